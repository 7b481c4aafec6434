// Attention of one sentence and one head (tensor/kernels.h) with interventions on its scores or weights.
#pragma once

#include <functional>
#include <span>

#include "tensor/kernels.h"

namespace heed {

/// Modifies row `query` of the scaled scores (before the mask) or of the weights before they are used;
/// may be empty.
template <class T>
struct RowEdit {
  std::function<void(std::int64_t query, std::span<T> row)> scores, weights;
};

/// attend_forward and attend_cached of kernels.h, bitwise equal to them where nothing is modified. `edit`, if
/// given, also applies to the scores and weights that are returned.
template <class T>
void attend_forward_edited(const AttentionHead<T>& head, const RowEdit<T>* edit, T* scores, T* weights,
                           Matrix<T> context);
template <class T>
void attend_cached_edited(const T* q, std::span<const T* const> key_rows,
                          std::span<const T* const> value_rows, std::int64_t d_k, std::int64_t d_v, T scale,
                          const RowEdit<T>* edit, T* weights, T* context);

}  // namespace heed
