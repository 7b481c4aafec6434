#include "tensor/packed_weights.h"

#include <functional>

namespace heed {

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

template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace heed
