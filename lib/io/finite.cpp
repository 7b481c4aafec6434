#include "io/finite.h"

#include <algorithm>
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

}  // namespace

void expect_finite(const std::string& name, const Tensor& tensor) {
  with_type(tensor.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::span<const T> values = tensor.values<T>();
      const auto found = std::ranges::find_if_not(values, [](T x) { return std::isfinite(x); });
      if (found == values.end()) return;
      fail(name, to_string(index_of(found - values.begin(), tensor.shape())), " = ", *found,
           ": not a finite number");
    }
  });
}

}  // namespace heed::io
