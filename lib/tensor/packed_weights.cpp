#include "tensor/packed_weights.h"

#include <algorithm>

#include "base/instantiate.h"

namespace heed {

template <class T>
PackedMatrix<T> pack(Matrix<const T> matrix, T* to) {
  const std::int64_t width = kPanelColumns<T>;
  std::fill_n(to, packed_size<T>(matrix.rows, matrix.cols), T{0});
  for (std::int64_t first = 0; first < matrix.cols; first += width) {
    T* const panel = to + first * matrix.rows;
    const Matrix<const T> from = matrix.columns(first, std::min(width, matrix.cols - first));
    if (from.col_stride == 1) {
      for (std::int64_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, panel + i * width);
    } else {
      for (std::int64_t j = 0; j < from.cols; ++j)  // along the columns, which are the rows of a table
        for (std::int64_t i = 0; i < from.rows; ++i) panel[i * width + j] = from(i, j);
    }
  }
  return {to, matrix.rows, matrix.cols};
}

template <class T>
const PackedMatrix<T>* PackedWeights<T>::find(Matrix<const T> weight) const {
  if (std::less<>()(weight.data, parameters_.data()) ||
      !std::less<>()(weight.data, parameters_.data() + parameters_.size()))
    return nullptr;
  const Key key{weight.data, weight.rows, weight.cols, weight.row_stride};
  const std::lock_guard guard(mutex_);
  const auto found = packed_.find(key);
  if (found != packed_.end()) return &found->second;
  return &packed_.emplace(key, packed(weight)).first->second;
}

template <class T>
PackedMatrix<T> PackedWeights<T>::packed(Matrix<const T> weight) const {
  if constexpr (std::is_same_v<T, float>) {
    if (precision_ != Precision::float32)
      return {nullptr, weight.rows, weight.cols, reduce(weight, precision_, arena_)};
  }
  return pack(weight, arena_.allocate<T>(packed_size<T>(weight.rows, weight.cols)));
}

HEED_INSTANTIATE(pack)
template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace heed
