#include "attend/config.h"

#include <map>
#include <sstream>

namespace heed {

void AttendConfig::check() const {
  check_ranges(*this);
  if (kv_heads > 0 && heads > 1 && heads % kv_heads != 0) {
    fail<UsageError>("--kv-heads: got ", kv_heads, ", wanted a number that divides the ", heads, " heads");
  }
  if (self && (!key.empty() || !value.empty())) {
    fail<UsageError>("--self: the query is key and value, so ", key.empty() ? "--value" : "--key",
                     " does not apply");
  }
  if (parameters.empty() && (out_in || !qkv_order.empty())) {
    fail<UsageError>(out_in ? "--out-in" : "--qkv-order",
                     ": states how --parameters are stored, but none are given");
  }
  mask_words(mask);
}

MaskWords mask_words(const std::string& mask) {
  static const std::map<std::string, bool MaskWords::*> flags{{"causal", &MaskWords::causal},
                                                              {"causal-start", &MaskWords::causal_start},
                                                              {"lengths", &MaskWords::lengths},
                                                              {"none", &MaskWords::ignore_lengths}};
  MaskWords words;
  std::istringstream list(mask);
  for (std::string word; std::getline(list, word, ',');) {
    if (const auto flag = flags.find(word); flag != flags.end()) {
      words.*flag->second = true;
    } else if (word.find(':') != std::string::npos || word.starts_with('/')) {
      if (!words.tensor.empty())
        fail<UsageError>("--mask: two tensors, ", escaped(words.tensor), " and ", escaped(word),
                         ", wanted one");
      words.tensor = word;
    } else if (word != "auto") {
      fail<UsageError>("--mask: got '", escaped(word),
                       "', wanted none, causal, causal-start, lengths, auto or FILE:PATH");
    }
  }
  if (words.lengths && words.ignore_lengths)
    fail<UsageError>("--mask: none leaves the lengths out, so it excludes lengths");
  return words;
}

}  // namespace heed
