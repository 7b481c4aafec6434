#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of GCC 12's own intrinsics (its bug 105593)
#endif
#include "tensor/bfloat16_product.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "tensor/arena.h"
#include "tensor/bfloat16_tiles.h"
#include "tensor/gemm.h"
#include "tensor/product_count.h"

namespace heed {

namespace {

using Index = std::int64_t;

#if defined(__x86_64__)
HWY_PUSH_ATTRIBUTES(HEED_BFLOAT16_TARGET)

using namespace bfloat16;

/// Of a product with at most so many columns panels may be kept; they take up to 8 MB.
constexpr Index kMostKept = 8192;

/// Rows of c and start have stride 1.
void multiply(Matrix<const float> a, Matrix<const float> b, Matrix<const float> start, Matrix<float> c) {
  static thread_local Arena arena;
  arena.reset();
  // Panels that several blocks of rows need are packed once.
  const bool keeps = c.rows > kBlockRows && c.cols <= kMostKept;
  const Index kept = keeps ? round_up(c.cols, kPanelColumns) : kPanelColumns;
  auto* const a_rows =
      arena.allocate<std::uint32_t>(kDepth / 2 * round_up(std::min(kBlockRows, c.rows), kBlock));
  auto* const b_panels = arena.allocate<std::uint32_t>(kDepth / 2 * kept);
  each_part(a.cols, kDepth, 2, [&](Index k, Index depth) {
    const Index groups = (depth + 1) / 2, stride = room(groups);
    const Matrix<const float> so_far = k > 0 ? Matrix<const float>(c) : start;
    const auto columns = [&](Index j) {
      return b.row_range(k, depth).columns(j, std::min(kPanelColumns, c.cols - j));
    };
    const auto panel = [&](Index j) { return b_panels + j % kept * stride; };
    each_part(c.rows, kBlockRows, kBlock, [&](Index i, Index rows) {
      pack_rows(a.row_range(i, rows).columns(k, depth), stride, a_rows);
      for (Index j = 0; j < c.cols; j += kPanelColumns) {
        const Index next = j + kPanelColumns;
        const Matrix<const float> b_columns = columns(j);
        Ahead ahead;
        if (i == 0 || !keeps) {
          pack<kPanelColumns>(b_columns, panel(j));
          if (next < c.cols) ahead = Ahead(columns(next));
        } else if (next < c.cols) {
          ahead = Ahead({reinterpret_cast<const float*>(panel(next)), groups, kPanelColumns});
        }
        const auto of_part = [&](auto matrix) {
          return matrix.data ? matrix.row_range(i, rows).columns(j, b_columns.cols) : matrix;
        };
        multiply_rows(a_rows, stride, panel(j), groups, of_part(so_far), of_part(c), ahead);
      }
    });
  });
}

HWY_POP_ATTRIBUTES
#endif

// ---- other processors -----------------------------------------------------------------------------------------

/// The nearest bfloat16, of two as near the even one; NaN and infinity stay what they are.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7F800000) == 0x7F800000)
    return std::bit_cast<float>((bits & 0xFFFF0000) | (bits & 0xFFFF ? 0x400000u : 0u));
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

/// A dense copy whose rows or columns follow one another as those of x do.
Matrix<const float> rounded(Matrix<const float> x, std::vector<float>& storage) {
  const bool transposed = x.col_stride != 1;
  if (transposed) x = x.t();
  storage.resize(static_cast<std::size_t>(x.size()));
  const Matrix<float> copy(storage.data(), x.rows, x.cols);
  for (Index i = 0; i < x.rows; ++i)
    for (Index j = 0; j < x.cols; ++j) copy(i, j) = rounded(x(i, j));
  return transposed ? copy.t() : copy;
}

}  // namespace

void multiply_bfloat16(Matrix<const float> a, Matrix<const float> b, Matrix<const float> start,
                       Matrix<float> c) {
#if defined(__x86_64__)
  if (bfloat16::has_pairs()) {
    count_product(c.rows, c.cols, a.cols);
    if (c.col_stride != 1) return multiply(b.t(), a.t(), start.t(), c.t());
    return multiply(a, b, start, c);
  }
#endif
  static thread_local std::vector<float> a_copy, b_copy;
  if (start.data && start.data != c.data) copy_rows(start, c);
  gemm<float>(1, rounded(a, a_copy), rounded(b, b_copy), start.data ? 1 : 0, c);
}

}  // namespace heed
