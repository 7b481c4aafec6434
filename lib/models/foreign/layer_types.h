// Which layers of a model have its sliding window, in transformers' config.json: layer_types.
#pragma once

#include <cstdint>
#include <functional>

#include "models/foreign/config_fields.h"
#include "models/transformer_parts.h"

namespace heed::foreign {

/// Whether a layer has the window.
using HasWindow = std::function<bool(std::int64_t)>;

/// Reads sliding_window and window_layers of so many layers. `window`: 0 is none, and refuses layers that have it.
/// `usual`: of layers in a file that does not state them.
void read_layer_types(ConfigFields& fields, std::int64_t window, const HasWindow& usual,
                      std::int64_t n_layers, TransformerOptions& config);
/// Of a model to whose layers their types make no difference.
void expect_one_layer_type(ConfigFields& fields);
void state_layer_types(const TransformerOptions& config, std::int64_t n_layers, Json& out);

}  // namespace heed::foreign
