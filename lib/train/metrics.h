// Metrics of a training run, one row per validation. Reproducible values go into the model file; wall-clock
// times go only into the table MODEL.metrics.tsv, so that equal runs give equal model files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed {

struct MetricsRow {
  std::int64_t step = 0, epoch = 0;
  double train_loss = 0;       ///< label-smoothed, per target token, since the last row
  double valid_loss = -1;      ///< -log p per target token; perplexity is its exponential; -1: not computed
  double valid_accuracy = -1;  ///< share of target tokens; -1: not computed
  double valid_bleu = -1;      ///< -1: not computed
  double learning_rate = 0, gradient_norm = 0;  ///< of the last update
  double target_tokens_per_second = 0,
         seconds = 0;  ///< while training, since the last row; wall-clock times
};

using Metrics = std::vector<MetricsRow>;

/// <prefix>step, <prefix>epoch (int64), <prefix>train_loss, ... (float64), each (step), shown by viewers as
/// the curves of both losses; wall-clock times only on request. `prefix`: a group and a slash.
void metrics_to_map(const Metrics& metrics, const std::string& prefix, bool with_clock, TensorMap& map);
/// The metrics in a model file, under model/training/; empty if there are none.
TensorMap model_metrics(const Metrics& metrics);
/// The inverse of metrics_to_map; throws Error if a column is missing or has another length.
Metrics metrics_from_map(const TensorMap& map, const std::string& prefix);

/// A table with a header line, columns separated by tabs; the same in every locale.
std::string metrics_to_tsv(const Metrics& metrics);

}  // namespace heed
