// Reaching the elements of a tensor whose type is known only at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// Calls `work` with the elements as a span of their own type and returns its result.
template <class Work>
auto visit_values(const Tensor& tensor, Work&& work) {
  switch (tensor.dtype()) {
    case DType::f32:
      return work(tensor.values<float>());
    case DType::f64:
      return work(tensor.values<double>());
    case DType::i32:
      return work(tensor.values<std::int32_t>());
    case DType::i64:
      return work(tensor.values<std::int64_t>());
    case DType::u8:
      return work(tensor.values<std::uint8_t>());
    case DType::string:
      return work(tensor.values<std::string>());
  }
  fail("a tensor of unknown type");
}

/// A row-major shape seen from one axis: the product of the sizes before it, its size, the product of those
/// after.
struct Around {
  std::int64_t outer = 1, size = 1, inner = 1;
};

inline Around around(const Shape& shape, std::size_t axis) {
  Around around{1, shape[axis], 1};
  for (std::size_t i = 0; i < axis; ++i) around.outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) around.inner *= shape[i];
  return around;
}

}  // namespace heed::draw
