// Products of matrices so small that packing would cost more than multiplying, as in attention within a short
// sentence. Compiled per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_PRODUCT_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_PRODUCT_H
#undef HEED_TENSOR_SIMD_PRODUCT_H
#else
#define HEED_TENSOR_SIMD_PRODUCT_H
#endif

#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

/// c = alpha a b, or c += alpha a b. a may have any strides; b and c have col_stride 1.
template <class T>
struct SmallProduct {
  Matrix<const T> a, b;
  Matrix<T> c;
  T alpha = 1;
  bool accumulate = false;
};

/// Rows of c computed together: with two vectors per row, the accumulators of 6 rows fill AVX2's registers.
inline constexpr int kProductRows = 6;

/// `rows` rows of c from row i on, `columns` vectors from column j on, the last of them partial,
/// as `last` says.
template <int rows, int columns, class T, class Part>
HWY_INLINE void product_tile(const SmallProduct<T>& p, Index i, Index j, const Part& last) {
  const T* a = p.a.row(i);
  const T* b = p.b.data + j;
  const Whole<T> all;
  Vec<T> sum[rows][columns];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < columns; ++v) sum[r][v] = set(T{0});
  for (Index l = 0; l < p.a.cols; ++l) {
    Vec<T> b_row[columns];
#pragma GCC unroll 16
    for (int v = 0; v + 1 < columns; ++v) b_row[v] = all.load(b + v * kLanes<T>);
    b_row[columns - 1] = last.load(b + (columns - 1) * kLanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec<T> factor = set(a[r * p.a.row_stride]);
#pragma GCC unroll 16
      for (int v = 0; v < columns; ++v) sum[r][v] = hn::MulAdd(factor, b_row[v], sum[r][v]);
    }
    a += p.a.col_stride;
    b += p.b.row_stride;
  }
  const Vec<T> alpha = set(p.alpha);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    T* c = p.c.row(i + r) + j;
#pragma GCC unroll 16
    for (int v = 0; v + 1 < columns; ++v, c += kLanes<T>)
      all.store(p.accumulate ? hn::MulAdd(alpha, sum[r][v], all.load(c)) : alpha * sum[r][v], c);
    Vec<T> value = alpha * sum[r][columns - 1];
    if (p.accumulate) value = value + last.load(c);
    last.store(value, c);
  }
}

/// All rows of one panel of columns, in blocks of about equal height.
template <int columns, class T, class Part>
HWY_NOINLINE void product_panel(const SmallProduct<T>& p, Index j, const Part& last) {
  const Index blocks = (p.c.rows + kProductRows - 1) / kProductRows;
  const Index height = blocks > 1 ? (p.c.rows + blocks - 1) / blocks : p.c.rows;
  for (Index i = 0; i < p.c.rows; i += height) {
    const Index rows = std::min(height, p.c.rows - i);
    switch (rows) {
      case 1:
        product_tile<1, columns>(p, i, j, last);
        break;
      case 2:
        product_tile<2, columns>(p, i, j, last);
        break;
      case 3:
        product_tile<3, columns>(p, i, j, last);
        break;
      case 4:
        product_tile<4, columns>(p, i, j, last);
        break;
      case 5:
        product_tile<5, columns>(p, i, j, last);
        break;
      case 6:
        product_tile<6, columns>(p, i, j, last);
        break;
    }
  }
}

template <class T>
HWY_INLINE void multiply_small(const SmallProduct<T>& p) {
  constexpr Index width = kLanes<T>;
  Index j = 0;
  for (; j + 2 * width <= p.c.cols; j += 2 * width) product_panel<2>(p, j, Whole<T>());
  const Index rest = p.c.cols - j;
  if (rest > width)
    product_panel<2>(p, j, First<T>{rest - width});
  else if (rest == width)
    product_panel<1>(p, j, Whole<T>());
  else if (rest > 0)
    product_panel<1>(p, j, First<T>{rest});
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
