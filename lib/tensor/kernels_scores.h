// Attention scores that are not matrix products; conventions as in tensor/kernels.h.
#pragma once

#include <span>

#include "tensor/matrix.h"

namespace heed {

/// Queries or keys, with what a score computes of each row once, ahead of all comparisons.
template <class T>
struct ScoreSide {
  Matrix<const T> x;         ///< [rows, w]
  Matrix<const T> prepared;  ///< [rows, ...], of the additive score additive_factors; no data: nothing

  ScoreSide row_range(std::int64_t first, std::int64_t count) const {
    return {x.row_range(first, count), prepared.row_range(first, count)};
  }
};

/// factors = exp(2 x), row by row. Rows with an element beyond +-20, or NaN, are marked instead: their scores
/// are computed with tanh.
template <class T>
void additive_factors(Matrix<const T> x, Matrix<T> factors);

/// e_ij = v^T tanh(q_i + k_j), the additive score (Bahdanau et al. 2015, appendix A.1.2); e [n, m], v [a].
/// Uses tanh(q + k) = (Q K - 1) / (Q K + 1) with Q = exp(2 q) and K = exp(2 k), hence n + m instead of n m
/// exponentials. The absolute error of each tanh is a few units in the last place of 1. A score depends only
/// on its own query and key, so any partition of the rows gives the same bits.
template <class T>
void additive_scores(const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<T> e);

}  // namespace heed
