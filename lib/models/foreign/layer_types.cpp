#include "models/foreign/layer_types.h"

#include <algorithm>

#include "base/error.h"

namespace heed::foreign {
namespace {

constexpr const char* kField = "layer_types";
constexpr const char *kWindow = "sliding_attention", *kFull = "full_attention";
/// More are refused later.
constexpr std::int64_t kMostLayers = 1'000;

/// The shortest beginning that gives all letters when it is repeated.
std::string period_of(const std::string& letters) {
  std::size_t period = 1;
  const auto repeats = [&] {
    return std::equal(letters.begin() + static_cast<std::ptrdiff_t>(period), letters.end(), letters.begin());
  };
  while (!repeats()) ++period;
  return letters.substr(0, period);
}

}  // namespace

void read_layer_types(ConfigFields& fields, std::int64_t window, const HasWindow& usual,
                      std::int64_t n_layers, TransformerOptions& config) {
  std::string letters;
  const Json& types = fields.get(kField);
  if (types.is_array()) {
    for (const Json& type : types) letters += type == kWindow ? 'w' : type == kFull ? 'f' : '?';
    if (letters.find('?') != std::string::npos || std::ssize(letters) != n_layers) {
      fields.refuse(kField, concat(kFull, " or ", kWindow, " for each of ", n_layers, " layers"));
      return;
    }
  } else {
    if (!types.is_null()) fields.refuse(kField, "a list");
    for (std::int64_t i = 0; i < std::min(n_layers, kMostLayers); ++i) letters += usual(i) ? 'w' : 'f';
  }
  if (letters.find('w') == std::string::npos) return;
  if (window == 0) fields.refuse(concat("layers are of type ", kWindow, ", and there is no sliding_window"));
  config.sliding_window = window;
  config.window_layers = period_of(letters);
}

void expect_one_layer_type(ConfigFields& fields) {
  const Json& types = fields.get(kField);
  if (types.is_null()) return;
  if (!types.is_array() || std::ranges::adjacent_find(types, std::not_equal_to<>()) != types.end())
    fields.refuse(kField, "one type for all layers");
}

void state_layer_types(const TransformerOptions& config, std::int64_t n_layers, Json& out) {
  for (std::int64_t i = 0; i < n_layers; ++i)
    out[kField].push_back(has_window(config.sliding_window, config.window_layers, i) ? kWindow : kFull);
}

}  // namespace heed::foreign
