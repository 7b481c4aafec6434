// The members of Llama's family (llama.cpp), and what distinguishes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/foreign/family.h"
#include "models/foreign/rotary.h"

namespace heed::foreign::llama {

/// The settings of a family member that the config does not state.
struct Kind {
  const char* model_type;
  const char* name;  ///< without spaces and hyphens also that of transformers' class
  std::int64_t vocab_size, d_model, d_ff, n_layers, n_heads, n_kv_heads /* 0: as n_heads */, d_head,
      max_length, window;
  double epsilon;
  DefaultIds ids;
  RotarySettingsOf rotary = {};

  bool is(std::string_view type) const { return model_type == type; }
  bool is_qwen() const { return is("qwen2") || is("qwen3"); }
  /// Gemma of any version.
  bool is_gemma() const { return is("gemma") || is("gemma3_text"); }
  /// The field that names it.
  const char* activation() const { return is("gemma3_text") ? "hidden_activation" : "hidden_act"; }
  bool is_olmo() const { return is("olmo2"); }
  bool has_qk_norm() const { return is("qwen3") || is("gemma3_text") || is_olmo(); }
  /// attention_bias states whether all four projections have one.
  bool has_biases_by_choice() const { return is("llama") || is("qwen3") || is_gemma() || is_olmo(); }
  /// All layers have the same window, or all have none.
  bool has_one_window() const { return is("mistral") || is("phi3"); }
  /// Some layers may have a window and others not.
  bool has_layer_types() const { return is("ministral") || is_qwen() || is("gemma3_text"); }
  bool has_window() const { return has_one_window() || has_layer_types(); }
  /// transformers takes a Mistral that states layer_types as a Ministral.
  bool reads_layer_types() const { return has_layer_types() || is("mistral"); }
};

/// Yarn and what else scales positions in other models is longrope in Phi-3.
inline constexpr RotarySettingsOf kPartOfHeads{"rope_theta", "partial_rotary_factor", 1, false};

inline constexpr RotarySettingsOf kTwoBases{"rope_theta", nullptr, 1, true, 1e6, "rope_local_base_freq"};

inline constexpr Kind kKinds[] = {
    {"llama", "Llama", 32000, 4096, 11008, 32, 32, 0, 0, 2048, 0, 1e-6, {1, 2}},
    {"mistral", "Mistral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 4096, 1e-6, {1, 2}},
    {"ministral", "Ministral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 4096, 1e-6, {1, 2}},
    {"qwen2", "Qwen2", 151936, 4096, 22016, 32, 32, 32, 0, 32768, 4096, 1e-6, {}},
    {"qwen3", "Qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, 4096, 1e-6, {}},
    {"gemma", "Gemma", 256000, 3072, 24576, 28, 16, 16, 256, 8192, 0, 1e-6, {2, 1, 0}},
    {"gemma3_text", "Gemma 3", 262208, 2304, 9216, 26, 8, 4, 256, 131072, 4096, 1e-6, {2, 1, 0}, kTwoBases},
    {"olmo2", "Olmo 2", 50304, 4096, 11008, 32, 32, 0, 0, 2048, 0, 1e-5, {SpecialIds::kAbsent, 50279, 1}},
    {"phi3", "Phi-3", 32064, 3072, 8192, 32, 32, 0, 0, 4096, 0, 1e-5, {1, 32000, 32000}, kPartOfHeads},
};

/// Null: none.
inline const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

/// The model_type of Gemma 3 for text and images.
inline constexpr char kWithImages[] = "gemma3";

}  // namespace heed::foreign::llama
