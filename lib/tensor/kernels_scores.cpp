// Attention scores that are not matrix products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_scores.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/kernels.h"
#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Q K stays far from overflow and underflow, even in float: exp(2 (20 + 20)) = 5.5e34.
inline constexpr int kLargestInput = 20;

/// Marks a row without factors, in its first element: exp is never negative.
template <class T>
inline constexpr T kNoFactors = -1;

template <class T>
HWY_INLINE bool within_limit(const T* x, Index n) {
  bool within = true;
  for_vectors<T>(n, [&](Index j, auto part) HWY_ATTR {
    // NaN is not <= the limit.
    within = within && hn::AllTrue(Tag<T>(), hn::Abs(part.load(x + j)) <= set(T{kLargestInput}));
  });
  return within;
}

/// tanh(q + k) from the factors of q and k.
template <class T>
HWY_INLINE Vec<T> tanh_of_factors(Vec<T> q, Vec<T> k) {
  const Vec<T> one = set(T{1});
  return hn::MulSub(q, k, one) / hn::MulAdd(q, k, one);
}

/// Scores of one query and `count` consecutive keys that have factors.
template <int count, class T>
HWY_INLINE void fast_scores(const T* q, Matrix<const T> k, const T* v, T* e) {
  Vec<T> sum[count];
  for (Vec<T>& s : sum) s = set(T{0});
  for_vectors<T>(k.cols, [&](Index l, auto part) HWY_ATTR {
    const Vec<T> from_q = part.load(q + l), weight = part.load(v + l);
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j) {
      const Vec<T> t = tanh_of_factors<T>(from_q, part.load(k.row(j) + l));
      sum[j] = hn::MulAdd(weight, t, sum[j]);
    }
  });
  for (int j = 0; j < count; ++j) e[j] = sum_of_lanes<T>(sum[j]);
}

template <class T>
HWY_INLINE T slow_score(const T* q, const T* k, const T* v, Index a) {
  Vec<T> sum = set(T{0});
  for_vectors<T>(a, [&](Index l, auto part) HWY_ATTR {
    sum = hn::MulAdd(part.load(v + l), tanh<T>(part.load(q + l) + part.load(k + l)), sum);
  });
  return sum_of_lanes<T>(sum);
}

inline constexpr int kKeysTogether = 4;          ///< enough independent divisions to keep the divider busy
inline constexpr Index kBlockBytes = 64 * 1024;  ///< keys that stay in the second-level cache for all queries

}  // namespace

template <class T>
void additive_factors(Matrix<const T> x, Matrix<T> factors) {
  for (Index i = 0; i < x.rows; ++i) {
    const T* from = x.row(i);
    T* to = factors.row(i);
    if (!within_limit(from, x.cols)) {
      to[0] = kNoFactors<T>;
      continue;
    }
    for_vectors<T>(x.cols, [&](Index j, auto part) HWY_ATTR {
      const ExpParts<T> e(part.load(from + j) * set(T{2}));
      part.store(hn::MulAdd(e.scale, e.fraction, e.scale), to + j);
    });
  }
}

template <class T>
void additive_scores(const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<T> e) {
  const Index a = k.x.cols, m = k.x.rows;
  const Index block = std::max<Index>(kKeysTogether, kBlockBytes / static_cast<Index>(sizeof(T)) / a);
  auto has_factors = [](const ScoreSide<T>& side, Index row) {
    return side.prepared(row, 0) != kNoFactors<T>;
  };
  for (Index first = 0; first < m; first += block) {
    const Index end = std::min(m, first + block);
    for (Index i = 0; i < q.x.rows; ++i) {
      const bool fast = has_factors(q, i);
      const T* from = q.prepared.row(i);
      for (Index j = first; j < end;) {
        Index run = 0;
        while (fast && run < kKeysTogether && j + run < end && has_factors(k, j + run)) ++run;
        if (run == kKeysTogether)
          fast_scores<kKeysTogether>(from, k.prepared.row_range(j, run), v.data(), e.row(i) + j);
        else if (run > 0)
          for (Index l = 0; l < run; ++l)
            fast_scores<1>(from, k.prepared.row_range(j + l, 1), v.data(), e.row(i) + j + l);
        else
          e(i, j) = slow_score(q.x.row(i), k.x.row(j), v.data(), a), run = 1;
        j += run;
      }
    }
  }
}

HEED_TARGET_KERNEL(additive_factors)
HEED_TARGET_KERNEL(additive_scores)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, additive_factors, (Matrix<const T> x, Matrix<T> factors), (x, factors))
HEED_KERNEL(void, additive_scores,
            (const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<T> e), (q, k, v, e))

}  // namespace heed
#endif
