// Products with weights in bfloat16 and int8 on processors that have no instructions for them; reduced_panels.cpp uses those
// of AVX-512. int8: pmaddubsw multiplies unsigned bytes by signed ones and adds two products in 16 bits, which do not
// overflow because pairs of weights are limited (ReducedPanels). bfloat16: the numbers are the upper halves of float32
// and are multiplied as float32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_reduced.cpp"
#include "tensor/simd_dispatch.h"
// AVX-512 without those instructions uses AVX2's kernels, which are tested on every processor that has AVX2.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_activation.h"
#include "tensor/simd_product.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/bfloat16.h"
#include "tensor/reduced_product.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4

/// A lane holds a group: the next four int8 or two bfloat16 of a row of a, or of a column of b.
using Words = Vec<std::uint32_t>;

/// Rows of a as kernels read them.
using FactorRows = Matrix<const std::uint32_t>;

struct Int8 {
  using Sum = Vec<std::int32_t>;
  using Factor = Words;
  static constexpr int kRows = 4;  ///< rows of a tile that is two vectors wide

  static HWY_INLINE Sum start(const ReducedProduct& p, Index j) {
    return hn::LoadU(Tag<std::int32_t>(), p.b.corrections + j);
  }
  static FactorRows rows(const ReducedProduct& p) {
    return {reinterpret_cast<const std::uint32_t*>(p.a.data), p.c.rows, p.b.groups,
            p.a.stride / static_cast<Index>(sizeof(std::uint32_t))};
  }
  static HWY_INLINE Factor factor(const std::uint32_t* row, Index g) { return set(row[g]); }
  static HWY_INLINE Factor weights(Words four) { return four; }
  static HWY_INLINE Sum add(Sum sum, Factor a, Factor b) {
#if HWY_TARGET == HWY_AVX2
    const __m256i pairs = _mm256_maddubs_epi16(a.raw, b.raw);
    return sum + Sum{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))};
#else
    const __m128i pairs = _mm_maddubs_epi16(a.raw, b.raw);
    return sum + Sum{_mm_madd_epi16(pairs, _mm_set1_epi16(1))};
#endif
  }
  /// sum * scale + onto, rounded once.
  template <class Ending>
  static HWY_INLINE Vec<float> value(Sum sum, const Ending& end, Index i, Index j, Vec<float> onto) {
    const Tag<float> tag;
    const Vec<float> x = hn::ConvertTo(tag, sum),
                     scale = set(end.row_scales[i]) * hn::LoadU(tag, end.column_scales + j);
#if HWY_TARGET == HWY_AVX2
    return hn::MulAdd(x, scale, onto);
#else  // has no such instruction
    float factors[2][kLanes<float>], y[kLanes<float>];
    hn::StoreU(x, tag, factors[0]), hn::StoreU(scale, tag, factors[1]), hn::StoreU(onto, tag, y);
    for (Index lane = 0; lane < kLanes<float>; ++lane)
      y[lane] = std::fma(factors[0][lane], factors[1][lane], y[lane]);
    return hn::LoadU(tag, y);
#endif
  }
  template <Limit limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float least) {
    const Vec<float> largest = set(std::numeric_limits<float>::max());
    Vec<float> most = set(least);
    bool odd = false;
    for_vectors<float>(n, [&](Index i, auto part) HWY_ATTR {
      const Vec<float> y = part.load(x + i);
      Vec<float> size = hn::Abs(y);
      if constexpr (limit == Limit::pairs) size = hn::Max(size, hn::Abs(y + hn::Shuffle2301(y)));
      odd |= !hn::AllTrue(Tag<float>(), size <= largest);
      most = hn::Max(most, size);
    });
    const Steps steps(odd ? std::numeric_limits<float>::infinity() : max_of_lanes<float>(most));
    const Vec<float> inverse = set(steps.inverse);
    const hn::Rebind<std::uint8_t, Tag<float>> bytes;
    const auto reduced = [&](Vec<float> y) HWY_ATTR {
      return hn::DemoteTo(bytes, hn::NearestInt(y * inverse) + set(std::int32_t{128}));
    };
    const Index whole = n - n % kLanes<float>;
    auto* const out = reinterpret_cast<std::uint8_t*>(to);
    for (Index i = 0; i < whole; i += kLanes<float>)
      hn::StoreU(reduced(hn::LoadU(Tag<float>(), x + i)), bytes, out + i);
    std::uint8_t rest[kLanes<float>];
    hn::StoreU(reduced(First<float>{n - whole}.load(x + whole)), bytes, rest);
    std::memcpy(out + whole, rest, static_cast<std::size_t>(n - whole));
    std::fill(to + n, to + 4 * groups, std::byte{128});
    return steps.scale;
  }
};

struct Bfloat16 {
  using Sum = Vec<float>;
  /// The two numbers of each group as float32.
  struct Factor {
    Words first, second;
  };
  static constexpr int kRows = 5;

  static HWY_INLINE Sum start(const ReducedProduct&, Index) { return set(0.0f); }
  /// The factors of a row one after the other, once for all tiles, in memory that the thread keeps.
  static FactorRows rows(const ReducedProduct& p) {
    static thread_local std::vector<std::uint32_t> memory;
    constexpr Index lanes = kLanes<std::uint32_t>;
    const Index stride = 2 * ((p.b.groups + lanes - 1) / lanes * lanes);
    const auto size = static_cast<std::size_t>(p.c.rows * stride);
    if (memory.size() < size) memory.resize(size);
    for (Index i = 0; i < p.c.rows; ++i) {
      const auto* from = reinterpret_cast<const std::uint32_t*>(p.a.row(i));
      std::uint32_t* to = memory.data() + i * stride;
      for_vectors<std::uint32_t>(p.b.groups, [&](Index g, auto part) HWY_ATTR {
        const Factor both = weights(part.load(from + g));
        hn::StoreInterleaved2(both.first, both.second, Tag<std::uint32_t>(), to + 2 * g);
      });
    }
    return {memory.data(), p.c.rows, 2 * p.b.groups, stride};
  }
  static HWY_INLINE Factor factor(const std::uint32_t* row, Index g) {
    return {set(row[2 * g]), set(row[2 * g + 1])};
  }
  static HWY_INLINE Factor weights(Words two) { return {bfloat16_of_pair<0>(two), bfloat16_of_pair<1>(two)}; }
  static HWY_INLINE Sum add(Sum sum, const Factor& a, const Factor& b) {
    const Tag<float> floats;
    sum = hn::MulAdd(hn::BitCast(floats, a.first), hn::BitCast(floats, b.first), sum);
    return hn::MulAdd(hn::BitCast(floats, a.second), hn::BitCast(floats, b.second), sum);
  }
  template <class Ending>
  static HWY_INLINE Vec<float> value(Sum sum, const Ending& /*end*/, Index /*i*/, Index /*j*/,
                                     Vec<float> onto) {
    return sum + onto;
  }
  /// Rounds each number as to_bfloat16 does.
  template <Limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float /*least*/) {
    for_vectors<float>(n, [&](Index i, auto part) HWY_ATTR {
      const Words value = hn::ShiftRight<16>(rounded_to_bfloat16(part.load(x + i)));
      std::uint16_t values[kLanes<float>];
      const hn::Rebind<std::uint16_t, Tag<float>> halves;
      hn::StoreU(hn::DemoteTo(halves, hn::BitCast(Tag<std::int32_t>(), value)), halves, values);
      std::memcpy(to + 2 * i, values, 2 * static_cast<std::size_t>(std::min(n - i, kLanes<float>)));
    });
    std::fill(to + 2 * n, to + 4 * groups, std::byte{0});
    return 1;
  }
};

/// What becomes of sums. Each tile has its own copy, which stays in registers: members of a ReducedProduct that lies
/// elsewhere would be read again after every store, which might have changed them.
template <class Kind>
struct Ending {
  const float *row_scales, *column_scales;
  Matrix<const float> onto;
  Matrix<float> c;
  bool relu;

  explicit HWY_INLINE Ending(const ReducedProduct& p)
      : row_scales(p.a.scales), column_scales(p.b.scales), onto(p.onto), c(p.c), relu(p.relu) {}

  /// Of row i those columns from column j on that `part` covers.
  template <class Part>
  HWY_INLINE void store(typename Kind::Sum sum, Index i, Index j, Part part) const {
    const Vec<float> to = onto.data ? part.load(onto.row(i) + j) : set(0.0f);
    const Vec<float> y = Kind::value(sum, *this, i, j, to);
    part.store(relu ? Relu<float>::value(y) : y, c.row(i) + j);
  }
};

/// Computes `rows` rows of c from row i on and `vectors` vectors of columns from column j on, which may span panels.
template <class Kind, int rows, int vectors>
HWY_INLINE void tile(const ReducedProduct& p, const FactorRows& factors, Index i, Index j,
                     ColumnsAhead ahead) {
  constexpr Index panel = ReducedPanels::kColumns, lanes = kLanes<float>;
  const Tag<std::uint32_t> words;
  const std::uint32_t *a[rows], *b[vectors];
  typename Kind::Sum sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    a[r] = factors.row(i + r);
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) sum[r][v] = Kind::start(p, j + v * lanes);
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * lanes;
    b[v] = reinterpret_cast<const std::uint32_t*>(p.b.panels) + column / panel * panel * p.b.groups +
           column % panel;
  }
  const Index groups = p.b.groups;
#pragma GCC unroll 4  // with few groups, mispredicting the end of the loop costs much
  for (Index g = 0; g < groups; ++g) {
    if constexpr (vectors == 2)
      ahead.prefetch<1>();  // the processor follows the streams of wider tiles by itself
    typename Kind::Factor weights[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) weights[v] = Kind::weights(hn::LoadU(words, b[v] + g * panel));
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const typename Kind::Factor factor = Kind::factor(a[r], g);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) sum[r][v] = Kind::add(sum[r][v], factor, weights[v]);
    }
  }
  const Ending<Kind> ending(p);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    const Index column = j + v * lanes, left = ending.c.cols - column;
    if (left <= 0) break;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      if (left >= lanes)
        ending.store(sum[r][v], i + r, column, Whole<float>());
      else
        ending.store(sum[r][v], i + r, column, First<float>{left});
    }
  }
}

/// The tile of `rows` rows, at most `most`.
template <class Kind, int vectors, int most>
HWY_INLINE void tile_of(const ReducedProduct& p, const FactorRows& factors, Index i, Index rows, Index j,
                        ColumnsAhead ahead) {
  if constexpr (most > 1) {
    if (rows < most) return tile_of<Kind, vectors, most - 1>(p, factors, i, rows, j, ahead);
  }
  tile<Kind, most, vectors>(p, factors, i, j, ahead);
}

/// All rows of `vectors` vectors from column j on.
template <class Kind, int vectors, int most>
HWY_NOINLINE void columns(const ReducedProduct& p, const FactorRows& factors, Index j) {
  ColumnsAhead ahead(p.b, j + vectors * kLanes<float>, (p.c.rows + most - 1) / most);
  each_block(p.c.rows, most, [&](Index i, Index rows) HWY_ATTR {
    tile_of<Kind, vectors, most>(p, factors, i, rows, j, ahead);
    ahead.next_block(p.b.groups);
  });
}

template <class Kind>
void multiply(const ReducedProduct& p) {
  constexpr Index panel = ReducedPanels::kColumns, lanes = kLanes<float>;
  const Index end = (p.c.cols + panel - 1) / panel * panel;  // panels are padded to their full width
  const FactorRows factors = Kind::rows(p);
  Index j = 0;
  if (p.c.rows == 1)  // more columns at once hide the latency of their sums
    for (; j + 8 * lanes <= end; j += 8 * lanes) columns<Kind, 8, 1>(p, factors, j);
  for (; j < end; j += 2 * lanes) columns<Kind, 2, Kind::kRows>(p, factors, j);
}

#else
// ---- any processor: the definition ----

struct Int8 {
  template <Limit limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float least) {
    float most = least;
    auto take = [&](float y) { most = std::isfinite(y) ? std::max(most, std::abs(y)) : INFINITY; };
    for (Index i = 0; i < n; ++i) take(x[i]);
    if constexpr (limit == Limit::pairs)
      for (Index i = 1; i < n; i += 2) take(x[i - 1] + x[i]);
    const Steps steps(most);
    for (Index i = 0; i < 4 * groups; ++i)
      to[i] = static_cast<std::byte>(i < n && std::isfinite(most) ? steps(x[i]) + 128 : 128);
    return steps.scale;
  }
  static float element(const ReducedProduct& p, Index i, Index j, const std::byte* b, float onto) {
    const std::byte* a = p.a.row(i);
    std::int32_t sum = p.b.corrections[j];
    for (Index g = 0; g < p.b.groups; ++g, a += 4, b += ReducedPanels::kGroupBytes)
      for (int k = 0; k < 4; ++k) sum += static_cast<std::int32_t>(a[k]) * static_cast<std::int8_t>(b[k]);
    return std::fma(static_cast<float>(sum), p.a.scales[i] * p.b.scales[j], onto);
  }
};

struct Bfloat16 {
  template <Limit>
  static float reduce(const float* x, Index n, Index groups, std::byte* to, float /*least*/) {
    for (Index i = 0; i < 2 * groups; ++i) {
      const std::uint16_t value = to_bfloat16(i < n ? x[i] : 0);
      std::memcpy(to + 2 * i, &value, sizeof value);
    }
    return 1;
  }
  static float element(const ReducedProduct& p, Index i, Index, const std::byte* b, float onto) {
    const std::byte* a = p.a.row(i);
    float sum = 0;
    for (Index g = 0; g < p.b.groups; ++g, a += 4, b += ReducedPanels::kGroupBytes) {
      std::uint16_t x[2], y[2];
      std::memcpy(x, a, sizeof x), std::memcpy(y, b, sizeof y);
      for (int k = 0; k < 2; ++k) sum += from_bfloat16(x[k]) * from_bfloat16(y[k]);
    }
    return sum + onto;
  }
};

template <class Kind>
void multiply(const ReducedProduct& p) {
  constexpr Index panel = ReducedPanels::kColumns;
  for (Index i = 0; i < p.c.rows; ++i)
    for (Index j = 0; j < p.c.cols; ++j) {
      const std::byte* b = p.b.panels + j / panel * p.b.groups * ReducedPanels::kGroupBytes + j % panel * 4;
      const float y = Kind::element(p, i, j, b, p.onto.data ? p.onto(i, j) : 0);
      p.c(i, j) = p.relu && y < 0 ? 0 : y;
    }
}

#endif

}  // namespace

ReducedKernels reduced_kernels(Precision precision) {
  return precision == Precision::int8 ? reduced_kernels_of<Int8>(multiply<Int8>)
                                      : reduced_kernels_of<Bfloat16>(multiply<Bfloat16>);
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_VERSIONS(reduced_kernels)

ReducedKernels common_reduced_kernels(Precision precision) {
  return reduced_kernels_versions.best()(precision);
}

}  // namespace heed
#endif
