// Optimizers: Adam (Kingma, Ba 2015), Adadelta (Zeiler 2012) or plain gradient descent, over flat buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/train_config.h"

namespace heed {

/// The state of an optimizer, in the layout of its parameters; empty for sgd. adam: running means of the
/// gradient and of its square; adadelta: of the squares of the moves and of the gradient.
struct Moments {
  std::string optimizer;
  std::vector<float> first, second;
};

class Optimizer {
 public:
  /// `parameters`: their number, all or those of a rank's slice.
  Optimizer(const TrainConfig& config, std::size_t parameters, int threads);

  /// Update `step` (from 1) with a gradient, scaled down to config.clip if its total `norm` is larger. Leaves
  /// `gradient` at zero.
  void apply(std::int64_t step, double rate, double norm, std::span<float> gradient,
             std::span<float> parameters);

  /// Whether it has moments.
  bool remembers() const { return method_ != Method::sgd; }
  Moments& moments() { return moments_; }
  const Moments& moments() const { return moments_; }

 private:
  TrainConfig config_;
  Method method_;
  int threads_;
  Moments moments_;
};

}  // namespace heed
