// Products whose rows do not depend on one another.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_product.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_activation.h"
#include "tensor/simd_product.h"

#include <vector>

#include "base/error.h"
#include "tensor/arena.h"
#include "tensor/packed_weights.h"
#include "tensor/product_count.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

namespace {

/// From this many rows on it pays to copy the panel of b that they share side by side.
inline constexpr Index kManyRows = 2 * kProductRows;

}  // namespace

// Every element is a sum in the order of b's rows, in whatever tile it lies.
template <class T>
void multiply_rows(Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c) {
  const SmallProduct<T> p{a, b, c, 1, accumulate};
  Index j = 0;
  if (c.rows <= 3) j = product_panels<8>(p, j);  // few rows: more columns at once hide the latency of sums
  j = product_panels<2>(p, j, kManyRows);
  for (; j < c.cols; j += kLanes<T>) product_panel<1>(p, j, First<T>{std::min(kLanes<T>, c.cols - j)});
}

namespace {

/// Rows of c computed together from a panel, two vectors of each: as many as there are registers for.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kPackedRows = 12;
#else
inline constexpr int kPackedRows = 6;
#endif
/// Of so few rows, 8 vectors of columns are computed at once, which hides the latency of their sums.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kFewRows = 3;
#else
inline constexpr int kFewRows = 1;
#endif

template <class T>
struct PackedProduct {
  Matrix<const T> a;
  PackedMatrix<T> b;
  Matrix<T> c;
  Matrix<const T> following{};  ///< of multiply_blocks: what the next panel will be copied from, or none
};

/// Asks for a part of the next panel in every row of this one: weights that come from memory are there when the
/// panel's turn comes, without a pause.
template <class T>
struct Ahead {
  const char* next = nullptr;
  Index step = 0;

  Ahead(const PackedProduct<T>& p, Index j, Index block, Index blocks) {
    constexpr Index panel = kPanelColumns<T>;
    const Index here = j / panel * panel, following = std::min(here + panel, (p.c.cols - 1) / panel * panel);
    const Index bytes = p.b.rows * panel * static_cast<Index>(sizeof(T));
    next = reinterpret_cast<const char*>(p.b.panels + following * p.b.rows) + bytes * block / blocks;
    step = panel * static_cast<Index>(sizeof(T)) / blocks;
  }
  HWY_INLINE void ask(const T* /*a*/) {
    __builtin_prefetch(next, 0, 2);
    __builtin_prefetch(next + 64, 0, 2);
    next += step;
  }
};
/// Asks for what the next panel will be copied from, a part of its rows in each block of rows; and, where a is
/// transposed and each row of the panel meets another line of it, for what the next tile reads of that line or the one
/// beside it. Neither is in the order in which a processor asks by itself.
template <class T>
struct BlocksAhead {
  const T *next = nullptr, *end = nullptr;
  Index step = 0, beside = 0;

  BlocksAhead(const PackedProduct<T>& p, Index /*j*/, Index block, Index blocks) {
    if (p.a.col_stride != 1) beside = kPackedRows * p.a.row_stride;
    if (!p.following.data) return;
    step = p.following.row_stride;
    next = p.following.row(p.following.rows * block / blocks);
    end = p.following.row(p.following.rows * (block + 1) / blocks);
  }
  HWY_INLINE void ask(const T* a) {
    if (beside) __builtin_prefetch(a + beside, 0, 2);
    if (next == end) return;
    __builtin_prefetch(next, 0, 2);
    __builtin_prefetch(next + 64 / sizeof(T), 0, 2);
    next += step;
  }
};

/// What becomes of the sums: f(sum + bias).
template <class T, class F>
struct BiasThen {
  using Next = Ahead<T>;
  const T* bias;  ///< null: none
  F f;

  template <class Part>
  HWY_INLINE void store(Vec<T> sum, Part part, T* c, Index column) const {
    part.store(f.value(bias ? sum + part.load(bias + column) : sum), c + column);
  }
};
/// alpha sum, or c + alpha sum.
template <class T, class Asking>
struct Scaled {
  using Next = Asking;
  T alpha;
  bool accumulate;

  template <class Part>
  HWY_INLINE void store(Vec<T> sum, Part part, T* c, Index column) const {
    const Vec<T> factor = set(alpha);
    part.store(accumulate ? hn::MulAdd(factor, sum, part.load(c + column)) : factor * sum, c + column);
  }
};

/// `rows` rows of c from row i on, `vectors` vectors from column j on, which may lie in several panels.
template <int rows, int vectors, class T, class End>
HWY_INLINE void packed_tile(const PackedProduct<T>& p, Index i, Index j, typename End::Next ahead,
                            const End& end) {
  constexpr Index panel = kPanelColumns<T>;
  const T* a = p.a.row(i);
  const T* b[vectors];
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * kLanes<T>;
    b[v] = p.b.panels + column / panel * panel * p.b.rows + column % panel;
  }
  Vec<T> sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) sum[r][v] = set(T{0});
  const Whole<T> all;
  for (Index l = 0; l < p.b.rows; ++l) {
    if constexpr (vectors == 2) ahead.ask(a);  // more panels at once are already read side by side
    Vec<T> b_row[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) b_row[v] = all.load(b[v] + l * panel);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec<T> factor = set(a[r * p.a.row_stride]);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, b_row[v], sum[r][v]);
    }
    a += p.a.col_stride;
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * kLanes<T>, left = p.c.cols - column;
    if (left <= 0) break;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {  // sums that a closure referred to would be kept in memory
      if (left >= kLanes<T>)
        end.store(sum[r][v], all, p.c.row(i + r), column);
      else
        end.store(sum[r][v], First<T>{left}, p.c.row(i + r), column);
    }
  }
}

/// The tile of packed_tile, whatever its height up to `most`.
template <int vectors, int most, class T, class End>
HWY_INLINE void packed_rows(const PackedProduct<T>& p, Index i, Index rows, Index j,
                            const typename End::Next& ahead, const End& end) {
  if constexpr (most > 1) {
    if (rows < most) return packed_rows<vectors, most - 1>(p, i, rows, j, ahead, end);
  }
  packed_tile<most, vectors>(p, i, j, ahead, end);
}

/// All rows of `vectors` vectors from column j on, in blocks of about equal height.
template <int vectors, int most, class T, class End>
HWY_NOINLINE void packed_columns(const PackedProduct<T>& p, Index j, const End& end) {
  const Index blocks = (p.c.rows + most - 1) / most;
  for (Index block = 0; block < blocks; ++block) {
    const Index i = p.c.rows * block / blocks;
    packed_rows<vectors, most>(p, i, p.c.rows * (block + 1) / blocks - i, j,
                               typename End::Next(p, j, block, blocks), end);
  }
}

template <class T, class End>
HWY_INLINE void multiply_panels(const PackedProduct<T>& p, const End& ending) {
  // Panels are filled up, so that loads may go beyond the last column, but not beyond the last panel.
  const Index end = (p.c.cols + kPanelColumns<T> - 1) / kPanelColumns<T> * kPanelColumns<T>;
  Index j = 0;
  if (p.c.rows <= kFewRows)
    for (; j + 8 * kLanes<T> <= end; j += 8 * kLanes<T>) packed_columns<8, kFewRows>(p, j, ending);
  else if (p.c.rows == 2)
    for (; j + 4 * kLanes<T> <= end; j += 4 * kLanes<T>) packed_columns<4, 2>(p, j, ending);
  for (; j < p.c.cols; j += 2 * kLanes<T>) packed_columns<2, kPackedRows>(p, j, ending);
}

/// The columns of `from`, at most a panel's, and zeros after them.
template <class T>
HWY_INLINE void pack_panel(Matrix<const T> from, T* panel) {
  constexpr Index width = kPanelColumns<T>;
  if (from.col_stride != 1 && from.row_stride == 1)
    return transpose(from.t(), Matrix<T>(panel, from.rows, width));
  for (Index l = 0; l < from.rows; ++l, panel += width) {
    if (from.col_stride == 1 && from.cols == width) {
#pragma GCC unroll 16
      for (Index v = 0; v < width; v += kLanes<T>)
        hn::StoreU(hn::LoadU(Tag<T>(), from.row(l) + v), Tag<T>(), panel + v);
    } else {
      for (Index j = 0; j < width; ++j) panel[j] = j < from.cols ? from(l, j) : T{0};
    }
  }
}

/// Rows of b at a time: a panel of so many stays in the second-level cache with the rows of a that meet it.
inline constexpr Index kBlockRows = 512;

}  // namespace

template <class T>
void multiply_packed(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Activation f,
                     Matrix<T> c) {
  const PackedProduct<T> p{a, b, c};
  const T* const shift = bias.empty() ? nullptr : bias.data();
  switch (f) {
    case Activation::none:
      return multiply_panels(p, BiasThen<T, Identity<T>>{shift, {}});
    case Activation::relu:
      return multiply_panels(p, BiasThen<T, Relu<T>>{shift, {}});
    default:  // too slow themselves for the memory's speed to matter
      multiply_panels(p, BiasThen<T, Identity<T>>{shift, {}});
      with_activation<T>(f, [&](auto function) HWY_ATTR {
        for (Index i = 0; i < c.rows; ++i)
          for_vectors<T>(c.cols, [&](Index j, auto part) HWY_ATTR {
            part.store(function.value(part.load(c.row(i) + j)), c.row(i) + j);
          });
      });
  }
}

template <class T>
void multiply_packed_add(Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c) {
  multiply_panels(PackedProduct<T>{a, b, c}, Scaled<T, Ahead<T>>{T{1}, true});
}

template <class T>
void pack_panels(Matrix<const T> matrix, T* to) {
  constexpr Index width = kPanelColumns<T>;
  for (Index j = 0; j < matrix.cols; j += width)
    pack_panel(matrix.columns(j, std::min(width, matrix.cols - j)), to + j * matrix.rows);
}

/// Rows of c at a time: what they read of a is still in some cache when the next panel comes.
inline constexpr Index kBlockHeight = 1024;

// A panel of b is copied side by side, into memory that the thread keeps, and meets the rows of a before the next.
template <class T>
void multiply_blocks(T alpha, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c) {
  constexpr Index width = kPanelColumns<T>;
  static thread_local Arena arena;
  arena.reset();
  T* const panel = arena.allocate<T>(kBlockRows * width);
  each_block(b.rows, kBlockRows, [&](Index first, Index depth) HWY_ATTR {
    const Scaled<T, BlocksAhead<T>> end{alpha, accumulate || first > 0};
    const Matrix<const T> b_rows = b.row_range(first, depth);
    each_block(c.rows, kBlockHeight, [&](Index i, Index rows) HWY_ATTR {
      for (Index j = 0; j < c.cols; j += width) {
        const Index cols = std::min(width, c.cols - j);
        pack_panel(b_rows.columns(j, cols), panel);
        PackedProduct<T> p{a.row_range(i, rows).columns(first, depth),
                           {panel, depth, cols},
                           c.row_range(i, rows).columns(j, cols)};
        if (b.col_stride == 1 && j + width < c.cols) p.following = b_rows.columns(j + width, 1);
        for (Index v = 0; v < cols; v += 2 * kLanes<T>) packed_columns<2, kPackedRows>(p, v, end);
      }
    });
  });
}

HEED_TARGET_KERNEL(multiply_rows)
HEED_TARGET_KERNEL(multiply_packed)
HEED_TARGET_KERNEL(multiply_packed_add)
HEED_TARGET_KERNEL(pack_panels)
HEED_TARGET_KERNEL(multiply_blocks)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, multiply_rows, (Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c),
            (a, b, accumulate, c))

HEED_KERNEL(void, multiply_blocks,
            (T alpha, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c),
            (alpha, a, b, accumulate, c))

namespace {
template <class T>
void expect_packed(const char* name, const Matrix<const T>& a, const PackedMatrix<T>& b, const Matrix<T>& c) {
  if (a.cols == b.rows && c.rows == a.rows && c.cols == b.cols) return;
  fail(name, ": [", a.rows, ", ", a.cols, "] times [", b.rows, ", ", b.cols, "] into [", c.rows, ", ", c.cols,
       "]: the shapes do not fit");
}
}  // namespace

HEED_EXPORT_KERNEL(multiply_packed)
template <class T>
void multiply_packed(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Activation f,
                     Matrix<T> c) {
  expect_packed("multiply_packed", a, b, c);
  count_product(c.rows, c.cols, a.cols);
  if constexpr (std::is_same_v<T, float>) {
    if (b.reduced.panels) return multiply_reduced(a, b.reduced, bias, f, c);
  }
  HEED_DISPATCH(multiply_packed)(a, b, bias, f, c);
}
HEED_INSTANTIATE(multiply_packed)

HEED_EXPORT_KERNEL(multiply_packed_add)
template <class T>
void multiply_packed_add(Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c) {
  expect_packed("multiply_packed_add", a, b, c);
  count_product(c.rows, c.cols, a.cols);
  if constexpr (std::is_same_v<T, float>) {
    if (b.reduced.panels) return multiply_reduced_add(a, b.reduced, c);
  }
  HEED_DISPATCH(multiply_packed_add)(a, b, c);
}
HEED_INSTANTIATE(multiply_packed_add)

HEED_EXPORT_KERNEL(pack_panels)
template <class T>
PackedMatrix<T> pack(Matrix<const T> matrix, T* to) {
  HEED_DISPATCH(pack_panels)(matrix, to);
  return {to, matrix.rows, matrix.cols};
}
HEED_INSTANTIATE(pack)

}  // namespace heed
#endif
