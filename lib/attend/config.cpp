#include "attend/config.h"

#include <map>
#include <sstream>
#include <string_view>

#include "base/number.h"

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
  if (past_key.empty() != past_value.empty())
    fail<UsageError>(past_key.empty() ? "--past-value" : "--past-key",
                     ": past keys and values go together; give ",
                     past_key.empty() ? "--past-key" : "--past-value", " too");
  if (!past_key.empty() && (!local.empty() || score == "location"))
    fail<UsageError>(
        "--past-key: does not apply to ", local.empty() ? "--score location" : "--local",
        ", which counts positions from the first key; --mask band=L:R is a window that goes with it");
  if (parameters.empty() && (out_in || !qkv_order.empty())) {
    fail<UsageError>(out_in ? "--out-in" : "--qkv-order",
                     ": states how --parameters are stored, but none are given");
  }
  mask_words(mask);
}

namespace {

constexpr std::string_view kBand = "band=";
constexpr std::int64_t kWidestBand = 1'000'000'000;

MaskWords::Band band_of(const std::string& word) {
  MaskWords::Band band;
  const std::string numbers = word.substr(kBand.size());
  const std::size_t colon = numbers.find(':');
  const auto number = [&](const std::string& text) {
    std::int64_t value = 0;
    if (colon == std::string::npos || !parse(text, value) || value < -kWidestBand || value > kWidestBand)
      fail<UsageError>("--mask: got ", escaped(word),
                       ", wanted band=L:R, two whole numbers, such as band=4:0");
    return value;
  };
  band.before = number(numbers.substr(0, colon));
  band.after = number(colon == std::string::npos ? "" : numbers.substr(colon + 1));
  if (band.before + band.after < 0)
    fail<UsageError>("--mask: ", escaped(word), " has no key: it ends before it begins");
  return band;
}

}  // namespace

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
    } else if (word.starts_with(kBand)) {
      if (words.band) fail<UsageError>("--mask: ", escaped(word), " is the second band, wanted one");
      words.band = band_of(word);
    } else if (word.find_first_of(":/.") !=
               std::string::npos) {  // no word of ours has these, files and paths do
      words.tensors.push_back(word);
    } else if (word != "auto") {
      fail<UsageError>(
          "--mask: got '", escaped(word),
          "', wanted none, causal, causal-start, band=L:R, lengths, auto, or a tensor as for --query");
    }
  }
  if (words.lengths && words.ignore_lengths)
    fail<UsageError>("--mask: none leaves the lengths out, so it excludes lengths");
  return words;
}

}  // namespace heed
