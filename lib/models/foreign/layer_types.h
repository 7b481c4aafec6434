// layer_types of transformers' config.json, one word for each layer: full_attention, or sliding_attention
// within a window. heed's config has a letter for each, repeated (window_layers of TransformerOptions).
#pragma once

#include <string>

#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// The fewest letters that, repeated, give one for each layer: w with a window, f without; "" if the field is
/// missing. Any other list is a reason.
std::string read_layer_types(ConfigFields& fields, std::int64_t n_layers);
/// The list for `n_layers` layers.
Json layer_types_of(const std::string& letters, std::int64_t n_layers);
/// The same letters, as few as possible.
std::string without_repetition(const std::string& letters);

}  // namespace heed::foreign
