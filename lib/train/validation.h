// How good a model is on text that it does not learn from.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/model.h"
#include "train/batching.h"
#include "train/tape_pool.h"

namespace heed {

struct ValidationScore {
  double loss = 0;      ///< -log p(token), natural, mean over target tokens; no smoothing, no dropout
  double accuracy = 0;  ///< share of target tokens that are the most probable one
};

class Validator {
 public:
  /// `model` and `corpus` must outlive this.
  Validator(const Model<float>& model, const ParallelCorpus& corpus, std::int64_t batch_tokens, int threads);

  /// Nothing when `stop` was raised on the way. The sums run in a fixed order, whatever the number of
  /// threads.
  std::optional<ValidationScore> run(const std::atomic<bool>& stop);

 private:
  CrossEntropySums sums_of(const Batch& batch);

  const Model<float>& model_;
  const ParallelCorpus& corpus_;
  std::vector<Batch> batches_;
  int threads_;
  TapePool tapes_;
};

}  // namespace heed
