// Products whose rows do not depend on one another.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_product.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_product.h"

#include <vector>

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

namespace {

/// From this many rows on it pays to copy the panel of b that they share side by side.
inline constexpr Index kManyRows = 2 * kProductRows;

template <int columns, class T>
HWY_INLINE void copy_panel(Matrix<const T> b, Index j, T* panel) {
  constexpr Index width = columns * kLanes<T>;
  for (Index l = 0; l < b.rows; ++l, panel += width) {
#pragma GCC unroll 16
    for (Index v = 0; v < width; v += kLanes<T>)
      hn::StoreU(hn::LoadU(Tag<T>(), b.row(l) + j + v), Tag<T>(), panel + v);
  }
}

/// All whole panels of `columns` vectors from column j on; returns the column after them.
template <int columns, class T>
HWY_INLINE Index multiply_panels(const SmallProduct<T>& p, Index j) {
  static thread_local std::vector<T> panel;
  constexpr Index width = columns * kLanes<T>;
  SmallProduct<T> part = p;
  for (; j + width <= p.c.cols; j += width) {
    if (p.c.rows >= kManyRows) {
      panel.resize(static_cast<std::size_t>(p.b.rows * width));
      copy_panel<columns>(p.b, j, panel.data());
      part.b = Matrix<const T>(panel.data() - j, p.b.rows, width, width);
    }
    product_panel<columns>(part, j, Whole<T>());
  }
  return j;
}

}  // namespace

// Every element is a sum in the order of b's rows, in whatever tile it lies.
template <class T>
void multiply_rows(Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c) {
  const SmallProduct<T> p{a, b, c, 1, accumulate};
  Index j = 0;
  if (c.rows <= 3) j = multiply_panels<8>(p, j);  // few rows: more columns at once hide the latency of sums
  j = multiply_panels<2>(p, j);
  for (; j < c.cols; j += kLanes<T>) product_panel<1>(p, j, First<T>{std::min(kLanes<T>, c.cols - j)});
}

HEED_TARGET_KERNEL(multiply_rows)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, multiply_rows, (Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c),
            (a, b, accumulate, c))

}  // namespace heed
#endif
