#include "models/foreign/layer_types.h"

#include <utility>

namespace heed::foreign {
namespace {

constexpr const char* kField = "layer_types";
constexpr const char *kFull = "full_attention", *kSliding = "sliding_attention";

}  // namespace

std::string without_repetition(const std::string& letters) {
  for (std::size_t n = 1; n < letters.size(); ++n)
    if (letters.compare(n, std::string::npos, letters, 0, letters.size() - n) == 0)
      return letters.substr(0, n);
  return letters;
}

std::string read_layer_types(ConfigFields& fields, std::int64_t n_layers) {
  const Json& types = fields.get(kField);
  if (types.is_null()) return "";
  std::string letters;
  if (types.is_array() && std::cmp_equal(types.size(), n_layers))
    for (const Json& type : types)
      if (type == kFull || type == kSliding) letters += type == kFull ? 'f' : 'w';
  if (letters.empty() || std::cmp_not_equal(letters.size(), n_layers)) {
    fields.refuse(kField, concat(kFull, " or ", kSliding, " for each of ", n_layers, " layers"));
    return "";
  }
  return without_repetition(letters);
}

Json layer_types_of(const std::string& letters, std::int64_t n_layers) {
  Json types = Json::array();
  for (std::int64_t i = 0; i < n_layers; ++i)
    types.push_back(letters[static_cast<std::size_t>(i) % letters.size()] == 'w' ? kSliding : kFull);
  return types;
}

}  // namespace heed::foreign
