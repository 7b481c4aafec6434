// The quality of a model on held-out text.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/model.h"
#include "train/batching.h"
#include "train/exchange.h"
#include "train/objective.h"
#include "train/tape_pool.h"

namespace heed {

struct ValidationScore {
  double loss = 0;      ///< -log p, natural, mean over predictions; no smoothing, no dropout
  double accuracy = 0;  ///< share of predictions whose most likely choice is correct
};

class Validator {
 public:
  /// `model`, `corpus` and `exchange` must outlive this.
  Validator(const Model<float>& model, const Objective& objective, const Corpus& corpus,
            std::int64_t batch_tokens, int threads, Exchange& exchange = alone());

  /// Nothing if `stop` was raised meanwhile, on any rank. The batches are divided among the ranks; the sums
  /// have a fixed order, independent of the number of threads and ranks.
  std::optional<ValidationScore> run(const std::atomic<bool>& stop);

 private:
  CrossEntropySums sums_of(const Batch& batch);

  const Model<float>& model_;
  const Objective objective_;
  const Corpus& corpus_;
  std::vector<Batch> batches_;
  std::int64_t predictions_ = 0;  ///< in all batches
  int threads_;
  Exchange& exchange_;
  TapePool tapes_;
};

}  // namespace heed
