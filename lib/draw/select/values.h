// Element access for tensors whose type is known only at run time, and slicing along an axis.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// Calls `work` with a span of the elements in their own type and returns its result.
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

/// A row-major shape around one axis: the product of the sizes before it, its size, the product of those
/// after it.
struct Around {
  std::int64_t outer = 1, size = 1, inner = 1;
};

inline Around around(const Shape& shape, std::size_t axis) {
  Around around{1, shape[axis], 1};
  for (std::size_t i = 0; i < axis; ++i) around.outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) around.inner *= shape[i];
  return around;
}

/// The names of the dimensions; "dim_0" and so on where a name is missing or not unique.
std::vector<std::string> dims_of(const Tensor& tensor);

bool holds_integers(const Tensor& tensor);

/// The values as doubles. Throws Error for strings.
std::vector<double> numbers(const Tensor& tensor);

// The results of the following have no dimension names.

/// Elements [first, first + count) along `axis`, which stays.
Tensor take_range(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count);

/// `tensor` without `axis`, which must have one element.
Tensor drop_axis(const Tensor& tensor, std::size_t axis);

enum class Reduction { mean, max };
/// Mean or maximum along `axis`, as double. NaN wins.
Tensor reduce(const Tensor& tensor, std::size_t axis, Reduction reduction);

}  // namespace heed::draw
