// The models that train_step times, and the floating-point operations in the matrix products of one update on
// a sentence pair of n source and m target tokens: a multiplication and an addition are two; forward once,
// backward twice (by input and by weight).
#pragma once

#include <string>
#include <vector>

#include "models/bahdanau.h"
#include "models/sutskever.h"
#include "models/transformer.h"
#include "train/presets.h"

namespace heed {

/// The recurrent models of published comparisons, which are no presets: sizes and about 64 sentences an
/// update.
struct Workload {
  const char *name, *architecture, *model, *training;
};
inline constexpr Workload kRecurrent[] = {
    {"bahdanau", "bahdanau",
     R"({"d_embedding": 256, "d_hidden": 256, "d_decoder": 512, "d_align": 512, "d_maxout": 256,
         "cell": "gru-reset-after", "init": "xavier", "dropout": 0.3})",
     R"({"learning_rate": 0.001, "schedule": "constant", "shards": 2, "batch_tokens": 1000, "clip": 1})"},
    {"lstm4", "sutskever",
     R"({"d_embedding": 512, "d_hidden": 512, "n_layers": 4, "init": "xavier", "dropout": 0.3})",
     R"({"learning_rate": 0.001, "schedule": "constant", "shards": 2, "batch_tokens": 1000, "clip": 5})"},
};

inline std::vector<std::string> workload_names() {
  std::vector<std::string> names = preset_names();
  for (const Workload& workload : kRecurrent) names.emplace_back(workload.name);
  return names;
}

inline Workload find_workload(const std::string& name) {
  for (const Workload& workload : kRecurrent) {
    if (name == workload.name) return workload;
  }
  const Preset& preset = find_preset(name);
  return {preset.name, preset.architecture, preset.model, preset.training};
}

inline constexpr double kFlopsPerWeight = 2 * 3;

inline double pair_flops(const TransformerConfig& config, double n, double m) {
  const double d = static_cast<double>(config.d_model), d_ff = static_cast<double>(config.d_ff);
  const double feed_forward = 2 * d * d_ff, projections = 4 * d * d;
  const double encoder_layer = n * (projections + feed_forward) + 2 * n * n * d;
  const double decoder_layer = m * (projections + 2 * d * d + feed_forward) +
                               n * 2 * d * d      // keys and values
                               + m * (m + 1) * d  // causal
                               + 2 * m * n * d;
  const double output = m * d * static_cast<double>(config.target_vocab_size);
  return kFlopsPerWeight * (static_cast<double>(config.n_encoder_layers) * encoder_layer +
                            static_cast<double>(config.n_decoder_layers) * decoder_layer + output);
}

/// Of one row of a recurrent layer.
inline double layer_weights(const RecurrentSizes& sizes, double d_in) {
  const double h = static_cast<double>(sizes.d_hidden);
  return static_cast<double>(sizes.gates().size()) * h * (d_in + h);
}

inline double pair_flops(const BahdanauConfig& config, double n, double m) {
  const double e = static_cast<double>(config.d_embedding), h = static_cast<double>(config.d_hidden);
  const double s = static_cast<double>(config.decoder().d_hidden), a = static_cast<double>(config.d_align);
  const double l = static_cast<double>(config.d_maxout);
  const double encoder = n * (2 * layer_weights(config.encoder(), e) + 2 * h * a) + h * s;
  const double decoder = m * (layer_weights(config.decoder(), e + 2 * h) + s * a);
  const double attention = m * n * (a + 2 * h);
  const double output = m * ((s + e + 2 * h) * 2 * l + l * static_cast<double>(config.target_vocab_size));
  return kFlopsPerWeight * (encoder + decoder + attention + output);
}

inline double pair_flops(const SutskeverConfig& config, double n, double m) {
  const double h = static_cast<double>(config.d_hidden), layers = static_cast<double>(config.n_layers);
  const double stack = layer_weights(config.state(), static_cast<double>(config.d_embedding)) +
                       (layers - 1) * layer_weights(config.state(), h);
  return kFlopsPerWeight * ((n + m) * stack + m * h * static_cast<double>(config.target_vocab_size));
}

}  // namespace heed
