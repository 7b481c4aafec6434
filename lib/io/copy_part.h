// Parts and blocks of row-major arrays. Internal to lib/io.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/shape.h"

namespace heed::io {

/// Distance in elements between neighbours along each axis.
inline Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// The shape of the same array in bytes: a further axis, that of the bytes of an element.
inline Shape in_bytes(Shape shape, std::int64_t item_bytes) {
  shape.push_back(item_bytes);
  return shape;
}

/// Moves `at` to the next block in row-major order; blocks begin at `first` and every `step` from there, before `end`.
/// False after the last, with `at` back at `first`.
inline bool next_block(Shape& at, const Shape& first, const Shape& step, const Shape& end) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if ((at[i] += step[i]) < end[i]) return true;
    at[i] = first[i];
  }
  return false;
}

/// Copies `size` elements of each axis, which begin at `from_start` and shall begin at `to_start`.
template <class T>
void copy_part(std::span<const T> from, const Shape& from_shape, const Shape& from_start, std::span<T> to,
               const Shape& to_shape, const Shape& to_start, const Shape& size) {
  if (std::ranges::count(size, 0) > 0) return;
  // A run: what lies together in both. It ends with the first axis that is not copied whole.
  std::int64_t run = 1;
  std::size_t outer = size.size();
  while (outer > 0) {
    --outer;
    run *= size[outer];
    if (size[outer] != from_shape[outer] || size[outer] != to_shape[outer]) break;
  }
  const Shape from_strides = strides_of(from_shape), to_strides = strides_of(to_shape);
  const std::int64_t runs = element_count(size) / run;
  for (std::int64_t number = 0; number < runs; ++number) {
    std::int64_t source = 0, target = 0, rest = number;
    for (std::size_t i = size.size(); i-- > 0;) {
      const std::int64_t at = i < outer ? rest % size[i] : 0;
      if (i < outer) rest /= size[i];
      source += (from_start[i] + at) * from_strides[i];
      target += (to_start[i] + at) * to_strides[i];
    }
    std::copy_n(from.begin() + source, run, to.begin() + target);
  }
}

}  // namespace heed::io
