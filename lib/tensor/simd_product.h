// Products of matrices so small that packing would cost more than multiplying, as in attention within a short
// sentence. Compiled per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_PRODUCT_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_PRODUCT_H
#undef HEED_TENSOR_SIMD_PRODUCT_H
#else
#define HEED_TENSOR_SIMD_PRODUCT_H
#endif

#include "tensor/product_count.h"
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
  const Index blocks = (p.c.rows + most - 1) / most;
  for (Index block = 0; block < blocks; ++block) {
    const Index i = p.c.rows * block / blocks;
    product_rows<columns, most>(p, i, p.c.rows * (block + 1) / blocks - i, j, last);
  }
}

template <class T>
HWY_INLINE void multiply_small(const SmallProduct<T>& p) {
  count_product(p.c.rows, p.c.cols, p.a.cols);
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

#if HWY_TARGET == HWY_SCALAR

template <class T>
HWY_INLINE void transpose(Matrix<const T> from, Matrix<T> to) {
  for (Index c = 0; c < to.rows; ++c)
    for (Index j = 0; j < to.row_stride; ++j) to.row(c)[j] = j < from.rows ? from(j, c) : T{0};
}

#else

/// Four rows of four floats become four columns.
HWY_INLINE void store_transposed(const float* const (&rows)[4], float* to, Index stride) {
  const hn::FixedTag<float, 4> floats;
  const hn::FixedTag<double, 2> pairs;
  const auto a = hn::LoadU(floats, rows[0]), b = hn::LoadU(floats, rows[1]);
  const auto c = hn::LoadU(floats, rows[2]), d = hn::LoadU(floats, rows[3]);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(floats, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(floats, a, b));
  const auto cd_low = hn::BitCast(pairs, hn::InterleaveLower(floats, c, d));
  const auto cd_high = hn::BitCast(pairs, hn::InterleaveUpper(floats, c, d));
  hn::StoreU(hn::BitCast(floats, hn::InterleaveLower(pairs, ab_low, cd_low)), floats, to);
  hn::StoreU(hn::BitCast(floats, hn::InterleaveUpper(pairs, ab_low, cd_low)), floats, to + stride);
  hn::StoreU(hn::BitCast(floats, hn::InterleaveLower(pairs, ab_high, cd_high)), floats, to + 2 * stride);
  hn::StoreU(hn::BitCast(floats, hn::InterleaveUpper(pairs, ab_high, cd_high)), floats, to + 3 * stride);
}
HWY_INLINE void store_transposed(const double* const (&rows)[2], double* to, Index stride) {
  const hn::FixedTag<double, 2> doubles;
  const auto a = hn::LoadU(doubles, rows[0]), b = hn::LoadU(doubles, rows[1]);
  hn::StoreU(hn::InterleaveLower(doubles, a, b), doubles, to);
  hn::StoreU(hn::InterleaveUpper(doubles, a, b), doubles, to + stride);
}

/// to [d, m] = from^T, rows padded with zeros. In blocks of 16 bytes a side: column by column it would take
/// as long as the product that follows.
template <class T>
HWY_INLINE void transpose(Matrix<const T> from, Matrix<T> to) {
  constexpr Index side = 16 / sizeof(T);
  static constexpr T zeros[side] = {};
  for (Index j = 0; j < to.row_stride; j += side) {
    const T* rows[side];
    Index step[side];  // rows after the last read the same zeros repeatedly
    for (Index r = 0; r < side; ++r) {
      rows[r] = j + r < from.rows ? from.row(j + r) : zeros;
      step[r] = j + r < from.rows ? 1 : 0;
    }
    Index c = 0;
    for (; c + side <= from.cols; c += side) {
      store_transposed(rows, to.row(c) + j, to.row_stride);
      for (Index r = 0; r < side; ++r) rows[r] += step[r] * side;
    }
    for (; c < from.cols; ++c) {
      for (Index r = 0; r < side; ++r) {
        to.row(c)[j + r] = *rows[r];
        rows[r] += step[r];
      }
    }
  }
}

#endif

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
