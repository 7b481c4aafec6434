#include "attend/operands.h"

#include "base/error.h"
#include "tensor/padding.h"

namespace heed {

std::string describe(const Operand& operand) {
  return operand.name + ": shape " + to_string(operand.tensor->shape());
}

Shape without_layer(const Tensor& tensor) {
  Shape shape = tensor.shape();
  const bool has_layer = shape.size() > 3 && tensor.dims().size() > 1 && tensor.dims()[1] == "layer";
  if (has_layer && shape[1] == 1) shape.erase(shape.begin() + 1);
  return shape;
}

template <class T>
HeadRows<T>::HeadRows(const Operand& from) : operand(&from) {
  const Tensor& tensor = *from.tensor;
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64) {
    fail(from.name, ": holds ", name_of(tensor.dtype()), " values, wanted float32 or float64");
  }
  const Shape shape = without_layer(tensor);
  const bool has_layers =
      shape.size() > 3 && tensor.dims().size() == shape.size() && tensor.dims()[1] == "layer";
  if (shape.size() < 2 || shape.size() > 4 || has_layers) {
    fail(describe(from), ", wanted [n, d], [batch, n, d] or [batch, heads, n, d], of one layer");
  }
  if (tensor.size() == 0) fail(describe(from), " has no elements");
  cols = shape.back();
  rows = shape[shape.size() - 2];
  shared = shape.size() == 2;
  by_head = shape.size() == 4;
  if (!shared) batch = shape[0];
  if (by_head) heads = shape[1];
  if (tensor.dtype() == dtype_of<T>::value) {
    data_ = tensor.values<T>().data();
  } else if constexpr (std::is_same_v<T, double>) {
    const auto values = tensor.values<float>();
    values_.assign(values.begin(), values.end());
    data_ = values_.data();
  }
}

template <class T>
void HeadRows<T>::split(std::int64_t n_heads, const char* option) {
  if (by_head && heads != n_heads) {
    fail<UsageError>(option, ": got ", n_heads, ", but ", operand->name, " ",
                     to_string(operand->tensor->shape()), " has ", heads);
  }
  if (!by_head && cols % n_heads != 0) {
    fail<UsageError>(option, ": ", n_heads, " heads do not divide the width ", cols, " of ", operand->name,
                     projected_ ? ", projected" : "");
  }
  heads = n_heads;
}

template <class T>
Matrix<const T> HeadRows<T>::head(std::int64_t sentence, std::int64_t h, std::int64_t count) const {
  const std::int64_t s = shared ? 0 : sentence;
  if (by_head) return {data_ + (s * heads + h) * rows * cols, count, cols};
  return all(sentence, count).columns(h * head_dim(), head_dim());
}

template <class T>
Matrix<const T> HeadRows<T>::all(std::int64_t sentence, std::int64_t count) const {
  return {data_ + (shared ? 0 : sentence) * rows * cols, count, cols};
}

template <class T>
void HeadRows<T>::replace(std::vector<T> values, std::int64_t width) {
  values_ = std::move(values);
  data_ = values_.data();
  cols = width;
  projected_ = true;
}

template <class T>
Packing HeadRows<T>::lengths(bool ignored, std::int64_t sentences) const {
  if (operand->length && !ignored && !shared) {
    Packing packing = packing_of(operand->length_name, *operand->length, rows);
    if (packing.sentences() != sentences) {
      fail("/", operand->length_name, ": ", packing.sentences(), " lengths for ", sentences, " sentences");
    }
    return packing;
  }
  Packing packing;
  for (std::int64_t s = 0; s < sentences; ++s) packing.append(rows);
  return packing;
}

template class HeadRows<float>;
template class HeadRows<double>;

}  // namespace heed
