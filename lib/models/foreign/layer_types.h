// Which layers of a decoder have its sliding window, in transformers' config.json: layer_types.
#pragma once

#include <cstdint>
#include <functional>

#include "models/decoder_only.h"
#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// Whether a layer has the window.
using HasWindow = std::function<bool(std::int64_t)>;

/// Reads sliding_window and window_layers after n_decoder_layers. `window`: 0 is none. `usual`: of layers in a file
/// that does not state them.
void read_layer_types(ConfigFields& fields, std::int64_t window, const HasWindow& usual,
                      DecoderOnlyConfig& config);
void state_layer_types(const DecoderOnlyConfig& config, Json& out);

}  // namespace heed::foreign
