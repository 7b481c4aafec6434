#include "io/finite.h"

#include <cmath>

#include "base/error.h"

namespace heed::io {
namespace {

Shape index_of(std::int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

template <class T>
void check(const std::string& name, const Tensor& tensor) {
  std::span<const T> values = tensor.values<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fail(name, to_string(index_of(static_cast<std::int64_t>(i), tensor.shape())), " = ", values[i],
         ": not a finite number");
  }
}

}  // namespace

void expect_finite(const std::string& name, const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) check<float>(name, tensor);
  if (tensor.dtype() == DType::f64) check<double>(name, tensor);
}

}  // namespace heed::io
