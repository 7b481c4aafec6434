// Settings of rotary positions in transformers' config.json. Older files state rope_theta, a share of each
// head and rope_scaling, newer ones rope_parameters; some both.
#pragma once

#include <string>

#include "models/decoder_only.h"
#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// How a family states them.
struct RotarySettingsOf {
  const char* base = "rope_theta";  ///< in files without rope_parameters
  const char* share = nullptr;      ///< the share of a head that turns, likewise; null: all of it, always
  double usual_share = 1;           ///< if no file states it
  bool is_scaled = true;            ///< knows the scalings that heed knows; else none
};

/// Reads them after d_model, n_heads, d_head and max_length.
void read_rotary(const RotarySettingsOf& family, ConfigFields& fields, DecoderOnlyConfig& config);
/// In words, for the model's record.
std::string rotary_formula(const PositionOptions& config);
/// Writes them in the older form.
void state_rotary(const RotarySettingsOf& family, const DecoderOnlyConfig& config, Json& out);

}  // namespace heed::foreign
