#include "io/finite.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/sentence_error.h"

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

/// Calls found(index, value) for the first value that is not finite.
template <class Found>
void find_not_finite(const Tensor& tensor, const Found& found) {
  with_type(tensor.dtype(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::span<const T> values = tensor.values<T>();
      const auto first = std::ranges::find_if_not(values, [](T x) { return std::isfinite(x); });
      if (first != values.end()) found(index_of(first - values.begin(), tensor.shape()), *first);
    }
  });
}

}  // namespace

void expect_finite(const std::string& name, const Tensor& tensor) {
  find_not_finite(tensor, [&](const Shape& index, auto value) {
    fail(name, to_string(index), " = ", value, ": not a finite number");
  });
}

void expect_finite_sentences(const std::string& name, const Tensor& tensor) {
  find_not_finite(tensor, [&](const Shape& index, auto value) {
    throw SentenceError(index[0],
                        concat(name, " is ", value, " at ", to_string({index.begin() + 1, index.end()}),
                               " of the sentence (from 0), wanted finite values (or --allow-nonfinite)"));
  });
}

}  // namespace heed::io
