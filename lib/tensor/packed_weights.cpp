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
  T* const to = arena_.allocate<T>(packed_size<T>(weight.rows, weight.cols));
  return &packed_.emplace(key, pack(weight, to)).first->second;
}

template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace heed
