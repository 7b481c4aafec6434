// What the kernels share: loads and stores of whole vectors and of the first few lanes, loops over a
// row, sums in a fixed order, exp, tanh, sigmoid and dropout factors. Compiled once per target, so:
// no #pragma once.
#if defined(HEED_TENSOR_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_H
#undef HEED_TENSOR_SIMD_H
#else
#define HEED_TENSOR_SIMD_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "tensor/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Index = std::int64_t;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;
template <class T>
inline constexpr Index kLanes = hn::MaxLanes(Tag<T>());
template <class T>
inline constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

template <class T>
HWY_INLINE Vec<T> set(T value) {
  return hn::Set(Tag<T>(), value);
}

/// All lanes of a vector. Addresses need no alignment.
template <class T>
struct Whole {
  HWY_INLINE Vec<T> load(const T* p) const { return hn::LoadU(Tag<T>(), p); }
  HWY_INLINE void store(Vec<T> v, T* p) const { hn::StoreU(v, Tag<T>(), p); }
  HWY_INLINE Vec<T> only(Vec<T> v, T /*other*/) const { return v; }
};

/// The first `count` lanes: memory after them is neither read nor written; loads fill the rest with zeros.
template <class T>
struct First {
  Index count;

  HWY_INLINE auto mask() const { return hn::FirstN(Tag<T>(), static_cast<std::size_t>(count)); }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  HWY_INLINE Vec<T> load(const T* p) const {
    return hn::MaskedLoad(mask(), Tag<T>(), p);
  }
  HWY_INLINE void store(Vec<T> v, T* p) const {
    hn::BlendedStore(v, mask(), Tag<T>(), p);
  }
#else
  // Other targets would read or write whole vectors and blend.
  HWY_INLINE Vec<T> load(const T* p) const {
    HWY_ALIGN T buffer[kLanes<T>] = {};
    std::memcpy(buffer, p, count * sizeof(T));
    return hn::Load(Tag<T>(), buffer);
  }
  HWY_INLINE void store(Vec<T> v, T* p) const {
    HWY_ALIGN T buffer[kLanes<T>];
    hn::Store(v, Tag<T>(), buffer);
    std::memcpy(p, buffer, count * sizeof(T));
  }
#endif
  /// v with `other` in the lanes after those.
  HWY_INLINE Vec<T> only(Vec<T> v, T other) const {
    return hn::IfThenElse(mask(), v, set(other));
  }
};

/// Calls body(i, Whole) for every whole vector of 0..n and body(i, First) for the rest.
template <class T, class Body>
HWY_INLINE void for_vectors(Index n, const Body& body) {
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(i, Whole<T>());
  if (i < n) body(i, First<T>{n - i});
}

template <class T>
HWY_INLINE T sum_of_lanes(Vec<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}
template <class T>
HWY_INLINE T max_of_lanes(Vec<T> v) {
  return hn::GetLane(hn::MaxOfLanes(Tag<T>(), v));
}

#if HWY_TARGET == HWY_SCALAR

template <class T, Index count, class F, class Join>
HWY_INLINE Vec<T> join_lanes(const F& vector, const Join& /*join*/) {
  return vector(Index{0});
}

#else

/// In runs of `stride` lanes: two runs of x joined, then two of y, and so on.
template <class T, Index stride, class Join>
HWY_INLINE Vec<T> join_runs(Vec<T> x, Vec<T> y, const Join& join) {
  const Tag<T> tag;
  constexpr Index bytes = stride * static_cast<Index>(sizeof(T));
  if constexpr (bytes >= 16 && 2 * stride == kLanes<T>) {
    return join(hn::ConcatLowerLower(tag, y, x), hn::ConcatUpperUpper(tag, y, x));
  } else if constexpr (bytes == 16) {
    return join(hn::OddEvenBlocks(y, x), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x, y)));
  } else if constexpr (bytes == 8) {
    const Tag<double> pairs;
    const auto a = hn::BitCast(pairs, x), b = hn::BitCast(pairs, y);
    return join(hn::BitCast(tag, hn::InterleaveLower(pairs, a, b)),
                hn::BitCast(tag, hn::InterleaveUpper(pairs, a, b)));
  } else {
    return join(hn::OddEven(y, x), hn::Shuffle2301(hn::OddEven(x, y)));
  }
}

template <class T, Index count, Index first, Index stride, class F, class Join>
HWY_INLINE Vec<T> join_from(const F& vector, const Join& join) {
  if constexpr (first >= count)
    return set(T{0});
  else if constexpr (stride == kLanes<T>)
    return vector(first);
  else
    return join_runs<T, stride>(join_from<T, count, first, 2 * stride>(vector, join),
                                join_from<T, count, first + stride, 2 * stride>(vector, join), join);
}

/// Lane i < count: all lanes of vector(i) joined, in the order of sum_of_lanes; all at once, which takes a third of the
/// instructions.
template <class T, Index count, class F, class Join>
HWY_INLINE Vec<T> join_lanes(const F& vector, const Join& join) {
  return join_from<T, count, 0, 1>(vector, join);
}

#endif

/// Lane i < count: sum_of_lanes(vector(i)), to the bit, or max_of_lanes.
template <class T, Index count, class F>
HWY_INLINE Vec<T> sums_of_lanes(const F& vector) {
  return join_lanes<T, count>(vector, [](Vec<T> x, Vec<T> y) HWY_ATTR { return x + y; });
}
template <class T, Index count, class F>
HWY_INLINE Vec<T> maxima_of_lanes(const F& vector) {
  return join_lanes<T, count>(vector, [](Vec<T> x, Vec<T> y) HWY_ATTR { return hn::Max(x, y); });
}

/// A vector whose largest lane is the largest element; -infinity when there is none. NaN may be ignored.
template <class T>
HWY_INLINE Vec<T> max_within_row(const T* x, Index n) {
  Vec<T> max0 = set(kMinusInfinity<T>), max1 = max0, max2 = max0, max3 = max0;
  Index i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>) {
    const Whole<T> all;
    max0 = hn::Max(max0, all.load(x + i));
    max1 = hn::Max(max1, all.load(x + i + kLanes<T>));
    max2 = hn::Max(max2, all.load(x + i + 2 * kLanes<T>));
    max3 = hn::Max(max3, all.load(x + i + 3 * kLanes<T>));
  }
  for_vectors<T>(n - i, [&](Index j, auto part) HWY_ATTR {
    max0 = hn::Max(max0, part.only(part.load(x + i + j), kMinusInfinity<T>));
  });
  return hn::Max(hn::Max(max0, max1), hn::Max(max2, max3));
}
template <class T>
HWY_INLINE T max_of_row(const T* x, Index n) {
  return max_of_lanes<T>(max_within_row(x, n));
}

// ---- bfloat16, the upper half of a float32 ----

/// x rounded as to_bfloat16 does, in the upper halves; the lower ones are 0.
HWY_INLINE Vec<std::uint32_t> rounded_to_bfloat16(Vec<float> x) {
  const Tag<std::uint32_t> words;
  const auto bits = hn::BitCast(words, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), set(std::uint32_t{1}));
  const auto nearest = bits + odd + set(std::uint32_t{0x7fff}),
             nan = hn::Or(bits, set(std::uint32_t{0x400000}));
  const auto rounded = hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(x)), nan, nearest);
  return hn::And(rounded, set(std::uint32_t{0xffff0000}));
}

/// Of two bfloat16, the first in the lower half, one as float32.
template <Index odd>
HWY_INLINE Vec<std::uint32_t> bfloat16_of_pair(Vec<std::uint32_t> two) {
  return odd ? hn::And(two, set(std::uint32_t{0xffff0000})) : hn::ShiftLeft<16>(two);
}

// ---- exp and its relatives ----
// Relative error of one or two units in the last place; NaN in, NaN out.
// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2, exp(r) by its Taylor series.

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr int kDegree = 7;                                           // next term: 5e-9
  static constexpr float kLowest = -87.33f;                                   // exp of less is subnormal
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // n * kLn2High is exact
};
template <>
struct ExpConstants<double> {
  static constexpr int kDegree = 13;  // next term: 4e-18
  static constexpr double kLowest = -708.39;
  static constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723212e-6;
};

template <class T>
constexpr T inverse_factorial(int n) {
  double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return static_cast<T>(1 / product);
}

/// 1 / first! + r / (first + 1)! + ... up to the last degree.
template <class T, int first = 1>
HWY_INLINE Vec<T> factorial_series(Vec<T> r) {
  const Vec<T> term = set(inverse_factorial<T>(first));
  if constexpr (first == ExpConstants<T>::kDegree)
    return term;
  else
    return hn::MulAdd(factorial_series<T, first + 1>(r), r, term);
}

/// exp(x) = scale + scale * fraction, where fraction = exp(r) - 1 has no cancellation.
template <class T>
struct ExpParts {
  Vec<T> scale, fraction;

  HWY_INLINE explicit ExpParts(Vec<T> x) {
    using C = ExpConstants<T>;
    // Added to 1.5 * 2^mantissa, a number is rounded to an integer, which then stands in the sum's lowest bits.
    constexpr int mantissa = std::numeric_limits<T>::digits - 1;
    const Vec<T> shift = set(static_cast<T>(std::int64_t{3} << (mantissa - 1)));
    const Vec<T> sum = x * set(static_cast<T>(1.4426950408889634)) + shift, n = sum - shift;
    const Vec<T> r = hn::NegMulAdd(n, set(C::kLn2Low), hn::NegMulAdd(n, set(C::kLn2High), x));
    const hn::RebindToSigned<Tag<T>> integers;
    const auto bias = hn::Set(integers, std::numeric_limits<T>::max_exponent - 1);
    scale = hn::BitCast(Tag<T>(), hn::ShiftLeft<mantissa>(hn::BitCast(integers, sum) + bias));
    fraction = r * factorial_series<T>(r);
  }
};

/// exp(x) for x <= 0 (or NaN): all that softmax needs. Numbers too small for full precision become 0.
template <class T>
HWY_INLINE Vec<T> exp_of_negative(Vec<T> x) {
  const ExpParts<T> e(x);
  return hn::IfThenZeroElse(x < set(ExpConstants<T>::kLowest), hn::MulAdd(e.scale, e.fraction, e.scale));
}

/// With t = exp(-2|x|) - 1: tanh |x| = -t / (2 + t).
template <class T>
HWY_INLINE Vec<T> tanh(Vec<T> x) {
  const ExpParts<T> e(hn::Max(hn::Abs(x) * set(T{-2}), set(T{-40})));  // beyond, tanh is 1
  const Vec<T> t = hn::MulAdd(e.scale, e.fraction, e.scale - set(T{1}));
  const Vec<T> y = hn::CopySign(hn::Neg(t) / (t + set(T{2})), x);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// With e = exp(-|x|): 1 / (1 + e) for positive x, e / (1 + e) for negative.
template <class T>
HWY_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> one = set(T{1}), e = exp_of_negative<T>(hn::Neg(hn::Abs(x)));
  return hn::IfThenElse(x < hn::Zero(Tag<T>()), e, one) / (one + e);
}

// ---- dropout ----
// Elements come in tiles of 128, the bits of 16 Philox blocks: word w of block b holds element (2 w) * 16 + b
// of the tile in its low half and element (2 w + 1) * 16 + b in its high half. So vectors of 4, 8 and 16
// lanes all cover contiguous elements, and the mask is the same for every vector length.

inline constexpr Index kTile = 128;
inline constexpr Index kTileBlocks = 16;

#if HWY_TARGET == HWY_SCALAR

/// factors[i] = kept ? scale : 0 for the elements of one tile.
HWY_INLINE void tile_factors(const Dropout& drop, Index tile, float scale, float* factors) {
  for (Index block = 0; block < kTileBlocks; ++block) {
    const auto bits = philox(drop.seed, drop.stream, static_cast<std::uint64_t>(tile * kTileBlocks + block));
    for (Index run = 0; run < kTile / kTileBlocks; ++run) {
      const std::uint32_t draw = bits[run / 2] >> (16 * (run % 2)) & 0xffff;
      factors[run * kTileBlocks + block] = draw >= drop.threshold ? scale : 0;
    }
  }
}

#else

struct WordPair {
  Vec<std::uint32_t> high, low;
};

/// The 64-bit products of the lanes of x and `factor`.
HWY_INLINE WordPair multiply_words(Vec<std::uint32_t> x, Vec<std::uint32_t> factor) {
  const Tag<std::uint32_t> words;
  const Tag<std::uint64_t> pairs;
  const auto even = hn::MulEven(x, factor);
  const auto odd = hn::MulEven(hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(pairs, x))), factor);
  return {hn::OddEven(hn::BitCast(words, odd), hn::BitCast(words, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)), hn::BitCast(words, even))};
}

/// philox() of `lanes` counters in a row.
HWY_INLINE void philox_blocks(const Dropout& drop, std::uint64_t counter, Vec<std::uint32_t> (&x)[4]) {
  const Tag<std::uint32_t> words;
  auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  x[0] = hn::Iota(words, low(counter));  // counter is a multiple of the lanes: no carry
  x[1] = set(high(counter));
  x[2] = set(low(drop.stream));
  x[3] = set(high(drop.stream));
  std::uint32_t key0 = low(drop.seed), key1 = high(drop.seed);
  for (int round = 0; round < 10; ++round) {
    const WordPair a = multiply_words(x[0], set(std::uint32_t{0xD2511F53}));
    const WordPair b = multiply_words(x[2], set(std::uint32_t{0xCD9E8D57}));
    x[0] = hn::Xor(hn::Xor(b.high, x[1]), set(key0));
    x[1] = b.low;
    x[2] = hn::Xor(hn::Xor(a.high, x[3]), set(key1));
    x[3] = a.low;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// factors[i] = kept ? scale : 0 for the elements of one tile.
HWY_INLINE void tile_factors(const Dropout& drop, Index tile, float scale, float* factors) {
  const Tag<std::int32_t> integers;
  const Tag<float> floats;
  const auto last_dropped = hn::Set(integers, static_cast<std::int32_t>(drop.threshold) - 1);
  auto store = [&](Vec<std::uint32_t> bits, Index first) HWY_ATTR {
    const auto kept = hn::Gt(hn::BitCast(integers, bits), last_dropped);
    hn::StoreU(hn::IfThenElseZero(hn::RebindMask(floats, kept), set(scale)), floats, factors + first);
  };
  for (Index block = 0; block < kTileBlocks; block += kLanes<std::uint32_t>) {
    Vec<std::uint32_t> x[4];
    philox_blocks(drop, static_cast<std::uint64_t>(tile * kTileBlocks + block), x);
    for (Index w = 0; w < 4; ++w) {
      store(hn::And(x[w], set(std::uint32_t{0xffff})), 2 * w * kTileBlocks + block);
      store(hn::ShiftRight<16>(x[w]), (2 * w + 1) * kTileBlocks + block);
    }
  }
}

#endif

HWY_INLINE void tile_factors(const Dropout& drop, Index tile, double scale, double* factors) {
  float kept[kTile];
  tile_factors(drop, tile, 1.0f, kept);
  for (Index i = 0; i < kTile; ++i) factors[i] = scale * static_cast<double>(kept[i]);
}

/// Iterates over the elements of a tensor under dropout; caches the last tile, so rows may be visited
/// one by one.
template <class T>
class KeepFactors {
 public:
  explicit KeepFactors(const Dropout& drop) : drop_(drop) {}

  /// Calls body(offset, count, factors) for runs that together cover first .. first + n; offset is
  /// relative to first.
  template <class Body>
  HWY_INLINE void for_runs(Index first, Index n, const Body& body) {
    for (Index done = 0; done < n;) {
      const Index within = (first + done) % kTile, count = std::min(kTile - within, n - done);
      const Index tile = (first + done) / kTile;
      if (tile != tile_) tile_factors(drop_, tile_ = tile, static_cast<T>(drop_.scale()), factors_);
      body(done, count, factors_ + within);
      done += count;
    }
  }

 private:
  const Dropout& drop_;
  Index tile_ = -1;
  HWY_ALIGN T factors_[kTile];
};

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
