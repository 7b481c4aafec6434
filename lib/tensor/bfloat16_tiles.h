// Products in bfloat16 by AVX-512 with its instruction for pairs of bfloat16, or by AMX: how factors are packed, and what is
// multiplied in registers at a time. For bfloat16_product.cpp and bfloat16_loss.cpp, which check that the processor has it.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "base/simd_level.h"
#include "tensor/amx_tiles.h"
#include "tensor/avx512.h"
#include "tensor/matrix.h"

#define HEED_BFLOAT16_TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"

HWY_PUSH_ATTRIBUTES(HEED_BFLOAT16_TARGET)

namespace heed::bfloat16 {

using Index = std::int64_t;
using avx512::first_lanes, avx512::kLanes;

/// A tile of c, by AVX-512: 24 sums, two vectors of b and one of a fit the 32 registers.
inline constexpr int kTileRows = 12, kTileVectors = 2;
/// b lies in panels of so many columns: of each group of two steps along k, the pair of every column in turn. a lies in rows of
/// pairs or, for tiles of AVX-512 only, in such panels of so many rows: a whole number of vectors and of tiles.
inline constexpr Index kPanelColumns = kTileVectors * kLanes, kPanelRows = 48;
/// Steps along k at a time, an even number: c is read and written as often as they make up k.
inline constexpr Index kDepth = 512;
/// A whole number of tiles of either kind.
inline constexpr Index kBlock = 48;
static_assert(kBlock % kTileRows == 0 && kBlock % amx::kTileRows == 0);
/// So many rows of a, of that depth, take half of the second-level cache.
inline constexpr Index kBlockRows = 11 * kBlock;

inline Index round_up(Index n, Index unit) {
  return (n + unit - 1) / unit * unit;
}

/// The pairs of the elements of two rows in bfloat16, of which `both` has the first in its lower half.
HWY_INLINE __m512i in_pairs(__m512i both) {
  alignas(64) static constexpr std::uint16_t kInTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                            21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), both);
}

/// Of 16 columns of `from` the pairs of rows 2 g and 2 g + 1, where rows follow one another in memory.
HWY_INLINE __m512i pair_rows(const Matrix<const float>& from, Index row, Index column) {
  const __mmask16 there = first_lanes(from.cols - column);
  const __m512 low = _mm512_maskz_loadu_ps(there, from.row(row) + column);
  const __m512 high =
      row + 1 < from.rows ? _mm512_maskz_loadu_ps(there, from.row(row + 1) + column) : _mm512_setzero_ps();
  return in_pairs((__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/// 16 vectors of 16 elements of 4 bytes: rows become columns.
HWY_INLINE void transpose_16(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {  // now x[i + j] has column j of each quarter, of four rows
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i low = _mm512_shuffle_i32x4(x[j], x[4 + j], 0x88),
                  high = _mm512_shuffle_i32x4(x[j], x[4 + j], 0xDD);
    const __m512i low_below = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0x88),
                  high_below = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0xDD);
    y[j] = _mm512_shuffle_i32x4(low, low_below, 0x88);
    y[8 + j] = _mm512_shuffle_i32x4(low, low_below, 0xDD);
    y[4 + j] = _mm512_shuffle_i32x4(high, high_below, 0x88);
    y[12 + j] = _mm512_shuffle_i32x4(high, high_below, 0xDD);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

/// Two vectors that will be packed soon.
HWY_INLINE void prefetch_vectors(const float* at) {
  __builtin_prefetch(at, 0, 2);
  __builtin_prefetch(at + kLanes, 0, 2);
}

/// Panels of `width` columns of `from` [k, columns], filled up with zeros: pairs of rows, `width` a group.
template <Index width>
inline void pack(Matrix<const float> from, std::uint32_t* panels) {
  const Index groups = (from.rows + 1) / 2, end = round_up(from.cols, width);
  const auto place = [&](Index group, Index column) {
    return panels + column / width * width * groups + group * width + column % width;
  };
  if (from.row_stride == 1 && from.col_stride != 1) {  // pairs follow one another in memory
    for (Index column = 0; column < end; column += kLanes) {
      for (Index group = 0; group < groups; group += kLanes) {
        const __mmask16 low = first_lanes(from.rows - 2 * group),
                        high = first_lanes(from.rows - 2 * group - kLanes);
        __m512i x[16];
#pragma GCC unroll 16
        for (Index j = 0; j < kLanes; ++j) {
          if (column + j >= from.cols) {
            x[j] = _mm512_setzero_si512();
            continue;
          }
          const float* const at = from.data + (column + j) * from.col_stride + 2 * group;
          x[j] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, at + kLanes),
                                              _mm512_maskz_loadu_ps(low, at));
        }
        transpose_16(x);
        const Index count = std::min(kLanes, groups - group);
        for (Index g = 0; g < count; ++g) _mm512_storeu_si512(place(group + g, column), x[g]);
      }
    }
    return;
  }
  // Row by row of all panels, in the order of memory.
  for (Index group = 0; group < groups; ++group) {
    for (Index column = 0; column < end; column += kLanes) {
      _mm512_storeu_si512(place(group, column), pair_rows(from, 2 * group, column));
    }
  }
}

/// The pairs of each row of `from` [rows, k], filled up with zeros to `groups`, a row of `to` each.
inline void pack_rows(Matrix<const float> from, Index groups, std::uint32_t* to) {
  if (from.col_stride == 1) {
    for (Index i = 0; i < from.rows; ++i) {
      const float* const row = from.row(i);
      for (Index group = 0; group < groups; group += kLanes) {
        const Index left = from.cols - 2 * group;
        const __m512 low = _mm512_maskz_loadu_ps(first_lanes(left), row + 2 * group),
                     high = _mm512_maskz_loadu_ps(first_lanes(left - kLanes), row + 2 * group + kLanes);
        _mm512_mask_storeu_epi32(to + i * groups + group, first_lanes(groups - group),
                                 (__m512i)_mm512_cvtne2ps_pbh(high, low));
      }
    }
    return;
  }
  const Matrix<const float> columns = from.t();
  for (Index group = 0; group < groups; group += kLanes) {  // in the order of memory
    for (Index i = 0; i < from.rows; i += kLanes) {
      __m512i x[16];
#pragma GCC unroll 16
      for (Index g = 0; g < kLanes; ++g)
        x[g] = 2 * (group + g) < from.cols ? pair_rows(columns, 2 * (group + g), i) : _mm512_setzero_si512();
      transpose_16(x);
      for (Index k = 2 * group; k < std::min(2 * (group + kLanes), from.cols); ++k)
        __builtin_prefetch(columns.row(k) + i + 2 * kLanes, 0, 2);
      const Index count = std::min(kLanes, from.rows - i);
      for (Index r = 0; r < count; ++r)
        _mm512_mask_storeu_epi32(to + (i + r) * groups + group, first_lanes(groups - group), x[r]);
    }
  }
}

/// Prefetches what the next panel of b will be packed from while the current one is multiplied: its rows are far
/// apart in memory, where the processor's own prefetchers do not follow. Or that panel itself, if it is packed already.
class Ahead {
 public:
  Ahead() = default;
  explicit Ahead(Matrix<const float> source) : source_(source.col_stride == 1 ? source : source.t()) {}

  HWY_INLINE void prefetch() {
    if (row_ >= source_.rows) return;
    prefetch_vectors(source_.row(row_) + column_);
    column_ += 2 * kLanes;
    if (column_ < source_.cols) return;
    column_ = 0;
    ++row_;
  }

 private:
  Matrix<const float> source_;
  Index row_ = 0, column_ = 0;
};

/// Where a tile finds the pairs of 12 rows of a: in panels, from `row` on, a multiple of kTileRows.
struct InPanel {
  const std::uint32_t* data;

  InPanel(const std::uint32_t* panels, Index row, Index groups)
      : data(panels + row / kPanelRows * kPanelRows * groups + row % kPanelRows) {}

  HWY_INLINE std::uint32_t operator()(int row, Index group) const { return data[group * kPanelRows + row]; }
};
/// Row by row; a pointer for every third one, as one for each would not fit the registers.
struct InRows {
  static constexpr int kApart = 3;
  const std::uint32_t* each_third[kTileRows / kApart];
  Index stride;

  InRows(const std::uint32_t* data, Index row_stride) : stride(row_stride) {
    for (int i = 0; i < kTileRows / kApart; ++i) each_third[i] = data + kApart * i * stride;
  }
  HWY_INLINE std::uint32_t operator()(int row, Index group) const {
    return each_third[row / kApart][row % kApart * stride + group];
  }
};

/// The columns of c from j on, in row i: start, unless it has no data, plus the sum.
HWY_INLINE void store_sum(__m512 sum, const Matrix<const float>& start, const Matrix<float>& c, Index i,
                          Index j) {
  const __mmask16 there = first_lanes(c.cols - j);
  if (start.data) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(there, start.row(i) + j));
  _mm512_mask_storeu_ps(c.row(i) + j, there, sum);
}

/// Rows and columns of c of a tile, those that are there: start, unless it has no data, plus the product of the panels' groups.
template <class Rows>
HWY_INLINE void tile(const Rows& a, const std::uint32_t* b, Index groups, Matrix<const float> start,
                     Matrix<float> c, Ahead& ahead) {
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r) {
    const float* const at = c.row(std::min<Index>(r, c.rows - 1));
    __builtin_prefetch(at, 1, 2);
    __builtin_prefetch(at + kLanes, 1, 2);
  }
  __m512 sum[kTileRows][kTileVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  for (Index g = 0; g < groups; ++g, b += kPanelColumns) {
    ahead.prefetch();
    __m512i b_group[kTileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) b_group[v] = _mm512_load_si512(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kTileRows; ++r) {
      const __m512i a_group = _mm512_set1_epi32(static_cast<int>(a(r, g)));
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], (__m512bh)a_group, (__m512bh)b_group[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r) {
    if (r >= c.rows) break;
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) store_sum(sum[r][v], start, c, r, v * kLanes);
  }
}

template <class Rows>
HWY_INLINE void tile(const Rows& a, const std::uint32_t* b, Index groups, Matrix<const float> start,
                     Matrix<float> c) {
  Ahead none;
  tile(a, b, groups, start, c, none);
}

/// multiply_rows by AVX-512.
inline void multiply_rows_avx512(const std::uint32_t* a, Index stride, std::uint32_t* b, Index groups,
                                 Matrix<const float> start, Matrix<float> c, Ahead& ahead) {
  for (Index i = 0; i < c.rows; i += kTileRows) {
    const Index rows = std::min<Index>(kTileRows, c.rows - i);
    tile(InRows(a + i * stride, stride), b, groups, start.data ? start.row_range(i, rows) : start,
         c.row_range(i, rows), ahead);
  }
}

/// Calls body(first, count) for parts of 0..n of about equal size, multiples of `unit` but for the last, none larger than
/// `most`.
template <class Body>
void each_part(Index n, Index most, Index unit, const Body& body) {
  const Index parts = (n + most - 1) / most, size = round_up((n + parts - 1) / parts, unit);
  for (Index first = 0; first < n; first += size) body(first, std::min(size, n - first));
}

}  // namespace heed::bfloat16

HWY_POP_ATTRIBUTES

HWY_PUSH_ATTRIBUTES(HEED_AMX_TARGET)

namespace heed::bfloat16 {

static_assert(kPanelColumns == amx::kSums);

/// c, of which rows or columns have stride 1, = start, unless it has no data, plus the sums; if columns have, start is c.
inline void store_sums(const float* sums, const Matrix<const float>& start, const Matrix<float>& c) {
  if (c.col_stride == 1) {
    for (Index i = 0; i < c.rows; ++i)
      for (Index j = 0; j < c.cols; j += kLanes)
        store_sum(_mm512_load_ps(sums + i * amx::kSums + j), start, c, i, j);
    return;
  }
  const Matrix<float> columns = c.t();
  for (Index i = 0; i < c.rows; i += kLanes) {
    for (Index j = 0; j < c.cols; j += kLanes) {
      __m512i x[16];
#pragma GCC unroll 16
      for (Index r = 0; r < kLanes; ++r) x[r] = _mm512_load_si512(sums + (i + r) * amx::kSums + j);
      transpose_16(x);
      const Index count = std::min(kLanes, c.cols - j);
      for (Index r = 0; r < count; ++r) store_sum((__m512)x[r], columns, columns, j + r, i);
    }
  }
}

/// multiply_rows by AMX, where columns of c may have stride 1, too, if start is c.
inline void multiply_rows_amx(const std::uint32_t* a, Index stride, std::uint32_t* b, Index groups,
                              Matrix<const float> start, Matrix<float> c, Ahead& ahead) {
  const amx::TileSteps steps(groups);
  const amx::Tiles tiles(amx::tile_height(c.rows), steps.depth);
  std::fill(b + groups * kPanelColumns, b + steps.groups() * kPanelColumns, 0u);
  alignas(64) float sums[amx::kSums * amx::kSums];
  const Index blocks = (c.rows + 2 * tiles.height() - 1) / (2 * tiles.height()),
              ahead_calls = (2 * groups + blocks - 1) / blocks;
  for (Index i = 0; i < c.rows; i += 2 * tiles.height()) {
    for (Index n = 0; n < ahead_calls; ++n) ahead.prefetch();
    const Index count = std::min(2 * tiles.height(), c.rows - i);
    tiles.multiply<Precision::bfloat16>(a + i * stride, 4 * stride, count, b, steps.count, sums);
    store_sums(sums, start.data ? start.row_range(i, count) : start, c.row_range(i, count));
  }
}

}  // namespace heed::bfloat16

HWY_POP_ATTRIBUTES

namespace heed::bfloat16 {

/// Whether the processor has instructions for pairs of bfloat16.
inline bool has_pairs() {
  return simd_level() >= SimdLevel::avx512 && __builtin_cpu_supports("avx512bf16");
}

/// For how many groups rows of a and panels of b need room if they have so many.
inline Index room(Index groups) {
  return simd_level() == SimdLevel::amx ? amx::TileSteps(groups).groups() : groups;
}

/// c = start + a b, without start if it has no data; rows of c have stride 1, and those of start. a: rows of `stride` pairs, with
/// numbers in all of room(groups) groups, in memory for a multiple of kBlock rows. b: a panel with room for as many,
/// of which those beyond `groups` become zeros.
inline void multiply_rows(const std::uint32_t* a, Index stride, std::uint32_t* b, Index groups,
                          Matrix<const float> start, Matrix<float> c, Ahead& ahead) {
  const auto multiply = simd_level() == SimdLevel::amx ? multiply_rows_amx : multiply_rows_avx512;
  multiply(a, stride, b, groups, start, c, ahead);
}

}  // namespace heed::bfloat16
#endif
