#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of GCC 12's own intrinsics (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"        // likewise
#endif
#include "tensor/reduced_panels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/simd_level.h"
#include "tensor/amx_tiles.h"
#include "tensor/avx512.h"
#include "tensor/packed_weights.h"
#include "tensor/reduced_product.h"

namespace heed {

namespace {

using Index = std::int64_t;

/// Rows of a that are reduced before they are multiplied, together: they stay in the cache.
constexpr Index kRows = 96;
#if defined(__x86_64__)
// ---- AVX-512 with its instructions for int8 (VNNI) or bfloat16 --------------------------------------------
// Highway 1.0 has neither. Both kinds are compiled together; bfloat16 instructions stand only where they are written.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")

using avx512::first_lanes, avx512::kLanes;

struct Int8 {
  using Sum = __m512i;
  static constexpr Precision precision = Precision::int8;

  HWY_INLINE static Sum load(const void* sums) { return _mm512_load_si512(sums); }
  HWY_INLINE static Sum plus(Sum x, Sum y) { return _mm512_add_epi32(x, y); }
  HWY_INLINE static Sum start(const ReducedProduct& p, Index j) {
    return _mm512_loadu_si512(p.b.corrections + j);
  }
  HWY_INLINE static Sum add(Sum sum, __m512i a, __m512i b) { return _mm512_dpbusd_epi32(sum, a, b); }
  HWY_INLINE static __m512 scales(const ReducedProduct& p, Index j) {
    return _mm512_loadu_ps(p.b.scales + j);
  }
  HWY_INLINE static __m512 value(Sum sum, const float* row_scale, __m512 scales, __m512 onto) {
    const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(*row_scale), scales);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, onto);
  }
  template <Limit limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float least) {
    // Magnitudes of floats are in the order of their bits, with infinity and NaN above all numbers.
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i most = _mm512_set1_epi32(std::bit_cast<std::int32_t>(least));
    auto take_size = [&](__m512 y) {
      most = _mm512_max_epi32(most, _mm512_and_si512(_mm512_castps_si512(y), magnitude));
    };
    auto take = [&](__m512 y) {
      take_size(y);
      if constexpr (limit == Limit::pairs)
        take_size(_mm512_add_ps(y, _mm512_permute_ps(y, _MM_SHUFFLE(2, 3, 0, 1))));
    };
    const Index whole = n - n % kLanes;  // what needs no mask is faster
    const __m512 rest = _mm512_maskz_loadu_ps(first_lanes(n - whole), x + whole);
    for (Index i = 0; i < whole; i += kLanes) take(_mm512_loadu_ps(x + i));
    take(rest);
    const Steps steps(std::bit_cast<float>(_mm512_reduce_max_epi32(most)));
    const __m512 inverse = _mm512_set1_ps(steps.inverse);
    auto bytes = [&](__m512 y) {
      const __m128i numbers = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(y, inverse)));
      return _mm_xor_si128(numbers, _mm_set1_epi8(-128));
    };
    for (Index i = 0; i < whole; i += kLanes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bytes(_mm512_loadu_ps(x + i)));
    if (whole < 4 * groups) _mm_mask_storeu_epi8(to + whole, first_lanes(4 * groups - whole), bytes(rest));
    return steps.scale;
  }
};

struct Bfloat16 {
  using Sum = __m512;
  static constexpr Precision precision = Precision::bfloat16;

  HWY_INLINE static Sum load(const void* sums) { return _mm512_load_ps(sums); }
  HWY_INLINE static Sum plus(Sum x, Sum y) { return _mm512_add_ps(x, y); }
  HWY_INLINE static Sum start(const ReducedProduct&, Index) { return _mm512_setzero_ps(); }
  HWY_INLINE static Sum add(Sum sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
  HWY_INLINE static __m512 scales(const ReducedProduct&, Index) { return _mm512_setzero_ps(); }
  HWY_INLINE static __m512 value(Sum sum, const float*, __m512, __m512 onto) {
    return _mm512_add_ps(sum, onto);
  }
  template <Limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float /*least*/) {
    for (Index i = 0; i < 2 * groups; i += kLanes) {
      const __m256i y = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first_lanes(n - i), x + i));
      _mm256_mask_storeu_epi16(to + 2 * i, first_lanes(2 * groups - i), y);
    }
    return 1;
  }
};

/// An element of c is at least this, which makes a difference with relu only; NaN stays NaN.
HWY_INLINE __m512 floor_of(const ReducedProduct& p) {
  return _mm512_set1_ps(p.relu ? 0 : -std::numeric_limits<float>::infinity());
}

/// Columns `there` of c from column j on, in row i, from their sums.
template <class Kind>
HWY_INLINE void finish(const ReducedProduct& p, typename Kind::Sum sum, Index i, Index j, __mmask16 there) {
  const __m512 onto = p.onto.data ? _mm512_maskz_loadu_ps(there, p.onto.row(i) + j) : _mm512_setzero_ps();
  const __m512 y = Kind::value(sum, p.a.scales + i, Kind::scales(p, j), onto);
  _mm512_mask_storeu_ps(p.c.row(i) + j, there, _mm512_max_ps(floor_of(p), y));
}

/// All columns of `vectors` vectors from column j on, in rows i to i + rows - 1. Without branches: where few groups are
/// summed up, this takes a good part of the time.
template <class Kind, int rows, int vectors>
HWY_INLINE void finish_whole(const ReducedProduct& p, const typename Kind::Sum (&sum)[rows][vectors], Index i,
                             Index j) {
  alignas(64) static constexpr float kNothing[kLanes] = {};
  const float* onto = p.onto.data ? p.onto.row(i) + j : kNothing;
  const Index stride = p.onto.data ? p.onto.row_stride : 0, step = p.onto.data ? kLanes : 0;
  const __m512 floor = floor_of(p);
  __m512 scales[vectors];
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) scales[v] = Kind::scales(p, j + v * kLanes);
  const float* const row_scales = p.a.scales + i;
  float* c = p.c.row(i) + j;
  const Index c_stride = p.c.row_stride;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r, onto += stride, c += c_stride)
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      const __m512 y = Kind::value(sum[r][v], row_scales + r, scales[v], _mm512_loadu_ps(onto + v * step));
      _mm512_storeu_ps(c + v * kLanes, _mm512_max_ps(floor, y));
    }
}

/// `rows` rows of c from row i on, `vectors` vectors of columns from column j on, which may lie in several panels.
template <class Kind, int rows, int vectors>
HWY_NOINLINE void tile(const ReducedProduct& p, Index i, Index j, ColumnsAhead ahead) {
  constexpr Index panel = ReducedPanels::kColumns;
  // A pointer for every third row: one for each would not fit the registers.
  constexpr int apart = 3;
  const Index stride = p.a.stride;
  const std::byte *a[(rows + apart - 1) / apart], *b[vectors];
  typename Kind::Sum sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; r += apart) a[r / apart] = p.a.row(i + r);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * kLanes;
    b[v] = p.b.panels + column / panel * p.b.groups * ReducedPanels::kGroupBytes + column % panel * 4;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) sum[r][v] = Kind::start(p, column);
  }
  for (Index g = 0; g < p.b.groups; ++g) {
    if constexpr (vectors == 2)
      ahead.prefetch<2>();  // the processor follows the four streams of wider tiles by itself
    __m512i b_group[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) b_group[v] = _mm512_loadu_si512(b[v] + g * ReducedPanels::kGroupBytes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      std::int32_t group;
      std::memcpy(&group, a[r / apart] + r % apart * stride + 4 * g, sizeof group);
      const __m512i a_group = _mm512_set1_epi32(group);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = Kind::add(sum[r][v], a_group, b_group[v]);
    }
  }
  if (j + vectors * kLanes <= p.c.cols) return finish_whole<Kind, rows, vectors>(p, sum, i, j);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * kLanes;
    if (column >= p.c.cols) break;
    const __mmask16 there = first_lanes(p.c.cols - column);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) finish<Kind>(p, sum[r][v], i + r, column, there);
  }
}

/// The tile whatever its height, up to `most`.
template <class Kind, int vectors, int most>
HWY_INLINE void tile_of(const ReducedProduct& p, Index i, Index rows, Index j, ColumnsAhead ahead) {
  if constexpr (most > 1) {
    if (rows < most) return tile_of<Kind, vectors, most - 1>(p, i, rows, j, ahead);
  }
  tile<Kind, most, vectors>(p, i, j, ahead);
}

/// All rows of `vectors` vectors from column j on, in blocks of this height.
template <class Kind, int vectors, int most>
HWY_INLINE void columns(const ReducedProduct& p, Index j, Index height) {
  const Index blocks = (p.c.rows + height - 1) / height;
  ColumnsAhead ahead(p.b, j + vectors * kLanes, blocks);
  for (Index i = 0; i < p.c.rows; i += height, ahead.next_block(p.b.groups))
    tile_of<Kind, vectors, most>(p, i, std::min(height, p.c.rows - i), j, ahead);
}

template <class Kind>
void multiply_avx512(const ReducedProduct& p) {
  constexpr Index panel = ReducedPanels::kColumns, most = 12;
  const Index end = (p.c.cols + panel - 1) / panel * panel;  // panels are filled up
  const Index blocks = (p.c.rows + most - 1) / most,
              height = (p.c.rows + blocks - 1) / blocks;  // about equal
  Index j = 0;
  if (p.c.rows <= 3)  // of few rows more columns at once, which hides the latency of their sums
    for (; j + 8 * kLanes <= end; j += 8 * kLanes) columns<Kind, 8, 3>(p, j, height);
  for (; j < end; j += 2 * kLanes) columns<Kind, 2, most>(p, j, height);
}

HWY_POP_ATTRIBUTES

// ---- AMX --------------------------------------------------------------------------------------------------
HWY_PUSH_ATTRIBUTES(HEED_AMX_TARGET)

static_assert(ReducedRows::kSpare >= amx::kTileRows - 1);

/// Groups of a panel that tiles take at a time: all steps are alike, so that they must divide the groups. 0: they would fill
/// less than half of a tile, and AVX-512 is taken.
Index tile_depth(Index groups) {
  for (Index depth = amx::kTileGroups; depth >= amx::kTileGroups / 2; --depth)
    if (groups % depth == 0) return depth;
  return 0;
}

template <class Kind>
void multiply_amx(const ReducedProduct& p) {
  const Index depth = tile_depth(p.b.groups), rows = p.c.rows;
  // Of few rows, AVX-512 should not take longer than tiles to read the weights. The sums of int8 are exact; in bfloat16 the bits
  // of a row may not depend on how many there are.
  const bool few = Kind::precision == Precision::int8 && rows < 4;
  if (depth == 0 || few) return multiply_avx512<Kind>(p);
  const Index steps = p.b.groups / depth;
  const amx::Tiles tiles(amx::tile_height(rows), depth);
  constexpr Index panel = ReducedPanels::kColumns, size = panel * amx::kSums;
  static_assert(panel == amx::kSums);
  alignas(64) std::int32_t sums[2 * size];
  const auto b = [&](Index j) { return p.b.panels + j * 4 * p.b.groups; };
  const auto finish_panel = [&](const std::int32_t* of_panel, Index i, Index count, Index j) {
    for (Index column = j; column < std::min(j + panel, p.c.cols); column += kLanes) {
      const typename Kind::Sum start = Kind::start(p, column);
      const __mmask16 there = first_lanes(p.c.cols - column);
      for (Index r = 0; r < count; ++r)
        finish<Kind>(p, Kind::plus(start, Kind::load(of_panel + r * amx::kSums + column - j)), i + r, column,
                     there);
    }
  };
  Index j = 0;
  for (; rows <= tiles.height() && j + panel < p.c.cols; j += 2 * panel) {
    tiles.multiply_two<Kind::precision>(p.a.row(0), p.a.stride, b(j), b(j + panel), steps, sums, sums + size);
    finish_panel(sums, 0, rows, j);
    finish_panel(sums + size, 0, rows, j + panel);
  }
  for (; j < p.c.cols; j += panel) {
    for (Index i = 0; i < rows; i += 2 * tiles.height()) {
      const Index count = std::min(2 * tiles.height(), rows - i);
      tiles.multiply<Kind::precision>(p.a.row(i), p.a.stride, count, b(j), steps, sums);
      finish_panel(sums, i, count, j);
    }
  }
}

HWY_POP_ATTRIBUTES
#endif

// ---- which of them ----------------------------------------------------------------------------------------

ReducedKernels kernels_of(Precision precision) {
#if defined(__x86_64__)
  const bool int8 = precision == Precision::int8;
  if (simd_level() == SimdLevel::amx) {
    return int8 ? reduced_kernels_of<Int8>(multiply_amx<Int8>)
                : reduced_kernels_of<Bfloat16>(multiply_amx<Bfloat16>);
  }
  if (simd_level() == SimdLevel::avx512) {
    if (int8 && __builtin_cpu_supports("avx512vnni")) return reduced_kernels_of<Int8>(multiply_avx512<Int8>);
    if (!int8 && __builtin_cpu_supports("avx512bf16"))
      return reduced_kernels_of<Bfloat16>(multiply_avx512<Bfloat16>);
  }
#endif
  return common_reduced_kernels(precision);
}

/// A row of x, in `dense` unless its elements follow one another in memory.
const float* row_of(Matrix<const float> x, Index i, std::vector<float>& dense) {
  if (x.col_stride == 1) return x.row(i);
  dense.resize(static_cast<std::size_t>(x.cols));
  for (Index j = 0; j < x.cols; ++j) dense[static_cast<std::size_t>(j)] = x(i, j);
  return dense.data();
}

/// Columns of panels, the last one filled up.
Index padded_columns(Matrix<const float> weight) {
  return (weight.cols + ReducedPanels::kColumns - 1) / ReducedPanels::kColumns * ReducedPanels::kColumns;
}

/// The magnitude of which all numbers are multiples, at most 127 times it, as when they come from a file of int8; 0 if
/// there is none, or fewer than 16 numbers, which are often multiples by chance. By Euclid's algorithm: what it takes
/// for a rounding error is far below 1 / 127 of the largest number.
float unit_of(std::span<const float> numbers) {
  constexpr std::size_t few = 16;
  constexpr float most = 127.5f;
  if (numbers.size() < few) return 0;
  const auto remainder = [](float x, float unit) { return std::abs(x - unit * std::nearbyint(x / unit)); };
  float unit = 0, largest = 0;
  for (const float x : numbers) {
    largest = std::max(largest, std::abs(x));
    if (unit > 0 && !(largest <= most * unit)) return 0;
    const float error = 1e-4f * largest;
    float rest = unit > 0 ? remainder(x, unit) : std::abs(x);
    if (!(rest > error)) continue;
    while (rest > error) {
      const float before = std::exchange(unit, rest);
      rest = remainder(before, unit);
    }
    unit = largest / std::nearbyint(largest / unit);  // without the errors of remainders
  }
  const bool fits = unit > 0 && largest <= most * unit && std::isfinite(most * unit);
  const auto is_multiple = [&](float x) { return remainder(x, unit) <= 1e-3f * unit; };
  return fits && std::ranges::all_of(numbers, is_multiple) ? unit : 0;
}

ReducedPanels int8_panels(Matrix<const float> weight, Arena& arena) {
  constexpr Index most_rows = 1 << 16;  // so that sums fit 32 bits
  if (weight.rows > most_rows)
    fail("weights in int8: got ", weight.rows, " rows, wanted at most ", most_rows);
  constexpr Index panel = ReducedPanels::kColumns;
  const Index groups = (weight.rows + 3) / 4, cols = padded_columns(weight), bytes = cols * 4 * groups;
  std::byte* const to = arena.allocate<std::byte>(bytes);
  std::memset(to, 0, static_cast<std::size_t>(bytes));
  float* const scales = arena.allocate<float>(cols);
  std::int32_t* const corrections = arena.allocate<std::int32_t>(cols);
  std::fill_n(scales, cols, 0.0f), std::fill_n(corrections, cols, 0);
  const ReducedKernels kernels = kernels_of(Precision::int8);
  std::vector<float> column;
  std::vector<std::uint32_t> reduced(static_cast<std::size_t>(groups));
  for (Index j = 0; j < weight.cols; ++j) {
    const std::span<std::byte> parts = std::as_writable_bytes(std::span(reduced));
    const float* const numbers = row_of(weight.t(), j, column);
    scales[j] = kernels.reduce_column(numbers, weight.rows, groups, parts.data(),
                                      127 * unit_of({numbers, static_cast<std::size_t>(weight.rows)}));
    std::int32_t sum = 0;
    for (const std::byte part : parts) sum += static_cast<std::int32_t>(part) - 128;
    corrections[j] = -128 * sum;
    std::byte* at = to + j / panel * groups * ReducedPanels::kGroupBytes + j % panel * 4;
    for (std::uint32_t four : reduced) {
      four ^= 0x80808080;  // a column is signed, unlike a row
      std::memcpy(at, &four, sizeof four);
      at += ReducedPanels::kGroupBytes;
    }
  }
  return {to, groups, Precision::int8, scales, corrections};
}

/// Fast, as training lays weights out anew in every pass.
ReducedPanels bfloat16_panels(Matrix<const float> weight, Arena& arena) {
  constexpr Index panel = ReducedPanels::kColumns;
  static_assert(panel == kPanelColumns<float>);  // pairs are packed as float
  const Index groups = (weight.rows + 1) / 2, cols = padded_columns(weight);
  auto* const panels = arena.allocate<std::uint32_t>(cols * groups);  // a pair of bfloat16 each
  const ReducedPanels result{reinterpret_cast<std::byte*>(panels), groups, Precision::bfloat16};
  const ReducedKernels kernels = kernels_of(Precision::bfloat16);
  static thread_local std::vector<float> dense, pairs;
  if (weight.row_stride == 1) {  // a column at a time; pairs change places as float32 do
    pairs.resize(static_cast<std::size_t>(panel * groups));
    for (Index j = 0; j < weight.cols; j += panel) {
      const Matrix<float> part(pairs.data(), std::min(panel, weight.cols - j), groups);
      for (Index i = 0; i < part.rows; ++i)
        kernels.reduce_row(&weight(0, j + i), weight.rows, groups, reinterpret_cast<std::byte*>(part.row(i)),
                           0);
      pack<float>(part.t(), reinterpret_cast<float*>(panels + j * groups));
    }
    return result;
  }
  static thread_local std::vector<std::uint16_t> low, high;  // of the pairs of two rows
  low.resize(static_cast<std::size_t>(cols)), high.resize(static_cast<std::size_t>(cols));
  const auto reduce_row = [&](Index i, std::vector<std::uint16_t>& row) {
    const bool there = i < weight.rows;
    kernels.reduce_row(there ? row_of(weight, i, dense) : weight.data, there ? weight.cols : 0, cols / 2,
                       std::as_writable_bytes(std::span(row)).data(), 0);
  };
  for (Index g = 0; g < groups; ++g) {
    reduce_row(2 * g, low), reduce_row(2 * g + 1, high);
    for (Index j = 0; j < cols; j += panel) {
      const std::uint16_t *first = low.data() + j, *second = high.data() + j;
      std::uint32_t* const at = panels + j * groups + g * panel;
      for (Index i = 0; i < panel; ++i) at[i] = first[i] | std::uint32_t{second[i]} << 16;
    }
  }
  return result;
}

/// c = f(a b + onto), onto as in ReducedProduct.
void multiply(Matrix<const float> a, const ReducedPanels& b, Matrix<const float> onto, Activation f,
              Matrix<float> c) {
  static thread_local Arena arena;
  static thread_local std::vector<float> scales, dense;
  arena.reset();
  const ReducedKernels kernels = kernels_of(b.precision);
  const bool apart = f != Activation::none && f != Activation::relu;
  const Index stride =
      4 * b.groups + (b.groups % 256 == 0 ? 64 : 0);  // else all rows share lines of the cache
  auto* const bytes = arena.allocate<std::byte>((std::min(kRows, a.rows) + ReducedRows::kSpare) * stride);
  for (Index first = 0; first < a.rows; first += kRows) {
    const Index rows = std::min(kRows, a.rows - first);
    scales.resize(static_cast<std::size_t>(rows));
    for (Index i = 0; i < rows; ++i)
      scales[static_cast<std::size_t>(i)] =
          kernels.reduce_row(row_of(a, first + i, dense), a.cols, b.groups, bytes + i * stride, 0);
    kernels.multiply({{bytes, stride, scales.data()},
                      b,
                      onto.data ? onto.row_range(first, rows) : onto,
                      f == Activation::relu,
                      c.row_range(first, rows)});
  }
  if (apart) bias_activation_dropout<float>({}, f, Dropout{}, c);
}

}  // namespace

ReducedPanels reduce(Matrix<const float> weight, Precision precision, Arena& arena) {
  return precision == Precision::int8 ? int8_panels(weight, arena) : bfloat16_panels(weight, arena);
}

void multiply_reduced(Matrix<const float> a, const ReducedPanels& b, std::span<const float> bias,
                      Activation f, Matrix<float> c) {
  multiply(a, b, bias.empty() ? Matrix<const float>() : Matrix<const float>(bias.data(), c.rows, c.cols, 0),
           f, c);
}

void multiply_reduced_add(Matrix<const float> a, const ReducedPanels& b, Matrix<float> c) {
  multiply(a, b, c, Activation::none, c);
}

}  // namespace heed
