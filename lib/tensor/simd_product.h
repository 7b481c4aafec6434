// Products of matrices so small that packing would cost more than multiplying, as in attention within a short
// sentence. Compiled per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_PRODUCT_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_PRODUCT_H
#undef HEED_TENSOR_SIMD_PRODUCT_H
#else
#define HEED_TENSOR_SIMD_PRODUCT_H
#endif

#include <vector>

#include "tensor/product_count.h"
#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

/// Calls body(first, count) for parts of 0..n of about equal size, none larger than `most`.
template <class Body>
HWY_INLINE void each_block(Index n, Index most, const Body& body) {
  const Index blocks = (n + most - 1) / most;
  for (Index block = 0; block < blocks; ++block) {
    const Index first = n * block / blocks;
    body(first, n * (block + 1) / blocks - first);
  }
}

/// c = alpha a b, or c += alpha a b. a may have any strides; b and c have col_stride 1.
template <class T>
struct SmallProduct {
  Matrix<const T> a, b;
  Matrix<T> c;
  T alpha = 1;
  bool accumulate = false;
};

/// Rows of c computed together: with two vectors per row, the accumulators of 6 rows fill AVX2's registers, of 12 those
/// of AVX-512.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kProductRows = 12;
#else
inline constexpr int kProductRows = 6;
#endif

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

/// The tile of product_tile, whatever its height up to `most`.
template <int columns, int most, class T, class Part>
HWY_INLINE void product_rows(const SmallProduct<T>& p, Index i, Index rows, Index j, const Part& last) {
  if constexpr (most > 1) {
    if (rows < most) return product_rows<columns, most - 1>(p, i, rows, j, last);
  }
  product_tile<most, columns>(p, i, j, last);
}

/// All rows of one panel of columns, in blocks of about equal height.
template <int columns, class T, class Part>
HWY_NOINLINE void product_panel(const SmallProduct<T>& p, Index j, const Part& last) {
  constexpr int most = columns > 2 ? 3 : kProductRows;
  each_block(p.c.rows, most,
             [&](Index i, Index rows) HWY_ATTR { product_rows<columns, most>(p, i, rows, j, last); });
}

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
HWY_INLINE Index product_panels(const SmallProduct<T>& p, Index j) {
  constexpr Index width = columns * kLanes<T>;
  for (; j + width <= p.c.cols; j += width) product_panel<columns>(p, j, Whole<T>());
  return j;
}

/// Likewise, but from `many` rows on the panel of b that they share is copied side by side: rows that lie
/// apart by a power of two are in the same few lines of the cache.
template <int columns, class T>
HWY_INLINE Index product_panels(const SmallProduct<T>& p, Index j, Index many) {
  if (p.c.rows < many) return product_panels<columns>(p, j);
  constexpr Index width = columns * kLanes<T>;
  static thread_local std::vector<T> panel;
  panel.resize(static_cast<std::size_t>(p.b.rows * width));
  SmallProduct<T> part = p;
  for (; j + width <= p.c.cols; j += width) {
    copy_panel<columns>(p.b, j, panel.data());
    part.b = Matrix<const T>(panel.data() - j, p.b.rows, width, width);
    product_panel<columns>(part, j, Whole<T>());
  }
  return j;
}

/// Of products that small, copying a panel pays from so many rows on: measured with AVX2. With AVX-512, whose
/// panels would have to be aligned, it is not measured, and nothing is copied.
#if HWY_TARGET == HWY_AVX3
inline constexpr Index kManySmallRows = INT64_MAX;
#else
inline constexpr Index kManySmallRows = 32;
#endif

template <class T>
HWY_INLINE void multiply_small(const SmallProduct<T>& p) {
  count_product(p.c.rows, p.c.cols, p.a.cols);
  constexpr Index width = kLanes<T>;
  Index j = product_panels<2>(p, 0, kManySmallRows);
  const Index rest = p.c.cols - j;
  if (rest > width)
    product_panel<2>(p, j, First<T>{rest - width});
  else if (rest == width)
    product_panel<1>(p, j, Whole<T>());
  else if (rest > 0)
    product_panel<1>(p, j, First<T>{rest});
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
HWY_INLINE void transpose_square(Vec<T> (&)[1]) {}

#else

/// Of every 2 * `stride` lanes: a keeps the first half of its own and gets that of b, which keeps its second
/// half and gets that of a.
template <class T, Index stride>
HWY_INLINE void exchange_runs(Vec<T>& a, Vec<T>& b) {
  const Tag<T> tag;
  constexpr Index bytes = stride * static_cast<Index>(sizeof(T));
  const Vec<T> x = a, y = b;
  if constexpr (bytes >= 16 && 2 * stride == kLanes<T>) {
    a = hn::ConcatLowerLower(tag, y, x);
    b = hn::ConcatUpperUpper(tag, y, x);
  } else if constexpr (bytes == 16) {
    a = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x);
    b = hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x));
  } else if constexpr (bytes == 8) {
    const Tag<double> pairs;
    const auto u = hn::BitCast(pairs, x), v = hn::BitCast(pairs, y);
    a = hn::BitCast(tag, hn::InterleaveLower(pairs, u, v));
    b = hn::BitCast(tag, hn::InterleaveUpper(pairs, u, v));
  } else {
    a = hn::OddEven(hn::Shuffle2301(y), x);
    b = hn::OddEven(y, hn::Shuffle2301(x));
  }
}

/// Rows become columns.
template <class T, Index stride = kLanes<T> / 2>
HWY_INLINE void transpose_square(Vec<T> (&rows)[kLanes<T>]) {
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes<T>; ++i)
    if (!(i & stride)) exchange_runs<T, stride>(rows[i], rows[i + stride]);
  if constexpr (stride > 1) transpose_square<T, stride / 2>(rows);
}

#endif

/// to [d, m] = from^T, rows padded with zeros to whole vectors. In squares of vectors: column by column it
/// would take as long as the product that follows.
template <class T>
HWY_INLINE void transpose(Matrix<const T> from, Matrix<T> to) {
  constexpr Index side = kLanes<T>;
  const Whole<T> all;
  for (Index j = 0; j < to.row_stride; j += side) {
    for (Index c = 0; c < from.cols; c += side) {
      const Index rows = std::min(side, from.rows - j), cols = std::min(side, from.cols - c);
      Vec<T> square[side];
      if (rows == side && cols == side) {
#pragma GCC unroll 16
        for (Index r = 0; r < side; ++r) square[r] = all.load(from.row(j + r) + c);
      } else {
#pragma GCC unroll 16
        for (Index r = 0; r < side; ++r)
          square[r] = r < rows ? First<T>{cols}.load(from.row(j + r) + c) : set(T{0});
      }
      transpose_square<T>(square);
      if (cols == side) {
#pragma GCC unroll 16
        for (Index i = 0; i < side; ++i) all.store(square[i], to.row(c + i) + j);
      } else {
#pragma GCC unroll 16
        for (Index i = 0; i < side; ++i)
          if (i < cols) all.store(square[i], to.row(c + i) + j);
      }
    }
  }
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
