// What the kernels of products with weights in bfloat16 and int8 share: reduced_panels.cpp, which has those
// of AVX-512 and AMX, and kernels_reduced.cpp, which has those of other processors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/matrix.h"
#include "tensor/reduced_panels.h"

namespace heed {

/// How numbers become int8: the nearest integer to x * inverse, each then standing for itself times scale.
struct Steps {
  float inverse, scale;

  /// `most`: the magnitude that becomes 127; infinite or NaN when there is no such.
  explicit Steps(float most) {
    constexpr float largest = std::numeric_limits<float>::max();
    inverse = most > 0 ? std::min(127 / most, largest) : 0;
    scale = std::isfinite(most) ? most / 127 : std::numeric_limits<float>::quiet_NaN();
  }
  std::int32_t operator()(float x) const { return static_cast<std::int32_t>(std::nearbyint(x * inverse)); }
};

/// Rows of a in the precision of the weights: two bfloat16 or four int8 a group, int8 as unsigned bytes, 128 larger.
struct ReducedRows {
  static constexpr std::int64_t kSpare = 15;  ///< so many rows behind the last may be read, too

  const std::byte* data = nullptr;
  std::int64_t stride = 0;        ///< bytes from row to row, at least 4 for each group
  const float* scales = nullptr;  ///< of int8, of each row

  const std::byte* row(std::int64_t i) const { return data + i * stride; }
};

/// c = a b + onto, or the positive part of it.
struct ReducedProduct {
  ReducedRows a;
  const ReducedPanels& b;
  Matrix<const float>
      onto;  ///< a bias, a row that stands for all (row_stride 0); or c, to be added to; no data: nothing
  bool relu;
  Matrix<float> c;
};

/// Which magnitude becomes 127: the largest of all elements, or of elements and sums of pairs, elements 2 i and 2 i + 1
/// (rounding adds 1 to a sum at most).
enum class Limit { elements, pairs };

/// Prefetches the next columns of the weights, some with each block of rows, while the present ones are multiplied: the
/// weights of a large model do not fit the second-level cache. Behind the last columns there are often those of the next
/// product. It must fit two registers: passed in memory, it would have to wait for the stores before it.
class ColumnsAhead {
 public:
  ColumnsAhead(const ReducedPanels& b, std::int64_t next, std::int64_t blocks)
      : from_(b.panels + next / ReducedPanels::kColumns * b.groups * ReducedPanels::kGroupBytes +
              next % ReducedPanels::kColumns * 4),
        step_(ReducedPanels::kGroupBytes / blocks) {}

  /// With each group of a block. `lines` of the cache are what a block's columns have of a group.
  template <int lines>
  void prefetch() {
    for (int line = 0; line < lines; ++line) __builtin_prefetch(from_ + line * 64);
    from_ += step_;
  }
  void next_block(std::int64_t groups) { from_ += groups * step_; }

 private:
  const std::byte* from_;
  std::int64_t step_;
};
static_assert(sizeof(ColumnsAhead) <= 2 * sizeof(std::int64_t));

struct ReducedKernels {
  /// x [n] -> the bytes of `groups` groups, the last one of x filled up and, in bfloat16, any after it; returns
  /// the scale. Of int8 columns, pairs are limited, and at least the magnitude `least` becomes 127.
  using Reduce = float(const float* x, std::int64_t n, std::int64_t groups, std::byte* to, float least);

  Reduce *reduce_row, *reduce_column;
  void (*multiply)(const ReducedProduct&);
};

/// Those of a kind of product, by its template `reduce`.
template <class Kind>
ReducedKernels reduced_kernels_of(void (*multiply)(const ReducedProduct&)) {
  return {Kind::template reduce<Limit::elements>, Kind::template reduce<Limit::pairs>, multiply};
}

/// For processors without instructions of their own for such products: by SSE4 or AVX2, or plain loops.
ReducedKernels common_reduced_kernels(Precision precision);

}  // namespace heed
