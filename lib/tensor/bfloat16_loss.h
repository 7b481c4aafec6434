// The cross-entropy of a projection and its gradients in bfloat16, without a matrix of logits: those of a large vocabulary do
// not fit the caches, and the products would wait for memory. For autograd/ops_loss.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/arena.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"

namespace heed {

struct ProjectedLoss {
  Matrix<const float> states;             ///< [n, d]
  Matrix<const float> weight;             ///< [d, V], rows or columns of stride 1
  std::span<const float> bias;            ///< [V] or empty
  std::span<const std::int32_t> targets;  ///< [n], below V
  double smoothing = 0;                   ///< as cross_entropy_rows has it
  float scale = 1;                        ///< of the gradients
  bool adds_to_d_states = false;          ///< instead of overwriting them
  Matrix<float> d_states;                 ///< [n, d]
  Matrix<float> d_weight;                 ///< as weight; what it has is added to; no data: not wanted
  std::span<float> d_bias;                ///< likewise
};

/// What cross_entropy_rows computes from the logits states weight + bias, added to sums, and the gradients. Classes are
/// taken in blocks that stay in the cache: the logits, e = exp(logit - reference of the row) and the product of e with the
/// weights. Only e is kept, in bfloat16 and as the panels that its product with the states needs. What normalises a row is
/// known in the end and multiplied into the results, as Dao et al. (2022, algorithm 1) do for attention.
/// Returns how many rows were taken, counted from the first; the others are untouched. It takes none if the processor has no
/// instruction for pairs of bfloat16, d is above 512 or the products are too small, and stops at a block with a row whose
/// logits are too far apart.
std::int64_t bfloat16_loss(const ProjectedLoss& loss, Arena& arena, CrossEntropySums& sums);

}  // namespace heed
