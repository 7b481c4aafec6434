// Settings of rotary positions in transformers' config.json. Older files state rope_theta, a share of each
// head and rope_scaling, newer ones rope_parameters; some both. Gemma 3 has another base in layers with the
// sliding window, without scaling; in rope_parameters each kind of layer has its own.
#pragma once

#include <string>

#include "models/foreign/family.h"
#include "models/transformer_parts.h"

namespace heed::foreign {

/// How a family states them.
struct RotarySettingsOf {
  const char* base = "rope_theta";  ///< in files without rope_parameters
  const char* share = nullptr;      ///< the share of a head that turns, likewise; null: all of it, always
  double usual_share = 1;           ///< if no file states it
  bool is_scaled = true;            ///< knows the scalings that heed knows; else none
  double usual_base = 10000;
  const char* local_base =
      nullptr;  ///< that of layers with the window, usually 10000; null: as in the others
};

/// Reads them after d_model, n_heads, d_head, max_length and the sliding window.
void read_rotary(const RotarySettingsOf& family, ConfigFields& fields, TransformerOptions& config);
/// In words, for the model's record.
std::string rotary_formula(const PositionOptions& config);
/// Requires of an export that its positions are rotary, with settings that the family has.
void want_rotary(const RotarySettingsOf& family, const TransformerOptions& config, Requirements& require);
/// Writes them in the older form.
void state_rotary(const RotarySettingsOf& family, const TransformerOptions& config, Json& out);

}  // namespace heed::foreign
