#include "draw/select/values.h"

#include <algorithm>
#include <cmath>

namespace heed::draw {
namespace {

Shape without(Shape shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

}  // namespace

std::vector<std::string> dims_of(const Tensor& tensor) {
  const bool has_names = tensor.dims().size() == tensor.shape().size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    const bool repeats = has_names && std::find(names.begin(), names.end(), tensor.dims()[i]) != names.end();
    names.push_back(has_names && !repeats ? tensor.dims()[i] : concat("dim_", i));
  }
  return names;
}

bool holds_integers(const Tensor& tensor) {
  return tensor.dtype() == DType::i32 || tensor.dtype() == DType::i64 || tensor.dtype() == DType::u8;
}

std::vector<double> numbers(const Tensor& tensor) {
  return visit_values(tensor, []<class T>(std::span<const T> values) -> std::vector<double> {
    if constexpr (std::is_same_v<T, std::string>) {
      fail("holds text, wanted numbers");
    } else {
      return {values.begin(), values.end()};
    }
  });
}

Tensor take_range(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count) {
  Shape shape = tensor.shape();
  const auto [outer, size, inner] = around(shape, axis);
  shape[axis] = count;
  return visit_values(tensor,
                      [&, outer = outer, size = size, inner = inner]<class T>(std::span<const T> from) {
                        std::vector<T> to;
                        to.reserve(static_cast<std::size_t>(outer * count * inner));
                        for (std::int64_t o = 0; o < outer; ++o) {
                          const auto start = from.begin() + (o * size + first) * inner;
                          to.insert(to.end(), start, start + count * inner);
                        }
                        return Tensor::of<T>(std::move(to), shape);
                      });
}

Tensor drop_axis(const Tensor& tensor, std::size_t axis) {
  return visit_values(tensor, [&]<class T>(std::span<const T> from) {
    return Tensor::of<T>({from.begin(), from.end()}, without(tensor.shape(), axis));
  });
}

Tensor reduce(const Tensor& tensor, std::size_t axis, Reduction reduction) {
  const auto [outer, size, inner] = around(tensor.shape(), axis);
  const std::vector<double> from = numbers(tensor);
  std::vector<double> to(static_cast<std::size_t>(outer * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      double result = reduction == Reduction::max ? -INFINITY : 0;
      for (std::int64_t k = 0; k < size; ++k) {
        const double value = from[static_cast<std::size_t>((o * size + k) * inner + i)];
        if (reduction == Reduction::mean) {
          result += value;
        } else if (value > result || std::isnan(value)) {
          result = value;
        }
      }
      to[static_cast<std::size_t>(o * inner + i)] =
          reduction == Reduction::mean ? result / static_cast<double>(size) : result;
    }
  }
  return Tensor::of(std::move(to), without(tensor.shape(), axis));
}

}  // namespace heed::draw
