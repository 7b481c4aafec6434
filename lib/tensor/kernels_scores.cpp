// Attention of one query to the keys of its sentence: scores that are not matrix products, weighted sums.
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

/// tanh(q + k) and its slope.
template <class T>
struct Bend {
  Vec<T> value, slope;

  static HWY_INLINE Bend of_factors(Vec<T> q, Vec<T> k) {
    const Vec<T> one = set(T{1}), square = q * k, inverse = one / (square + one);
    // 1 - tanh^2 = 4 Q K / (Q K + 1)^2, exact also where tanh is nearly 1.
    return {hn::MulSub(q, k, one) * inverse, set(T{4}) * (square * inverse) * inverse};
  }
  static HWY_INLINE Bend of_sum(Vec<T> q, Vec<T> k) {
    const Vec<T> t = tanh<T>(q + k);
    return {t, hn::NegMulAdd(t, t, set(T{1}))};
  }
};

/// Adds the derivatives of the scores of one query and `count` keys; bend(q, k) is what they make of each other.
template <int count, class T, class F>
HWY_INLINE void add_derivatives(const T* q, Matrix<const T> k, const T* v, const T* d_e, T* d_q,
                                Matrix<T> d_k, T* d_v, const F& bend) {
  Vec<T> d[count];
  for (int j = 0; j < count; ++j) d[j] = set(d_e[j]);
  for_vectors<T>(k.cols, [&](Index l, auto part) HWY_ATTR {
    const Vec<T> from_q = part.load(q + l), weight = part.load(v + l);
    Vec<T> to_q = part.load(d_q + l), to_v = part.load(d_v + l);
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j) {
      const Bend<T> t = bend(from_q, part.load(k.row(j) + l));
      const Vec<T> d_sum = d[j] * weight * t.slope;
      T* const to_k = d_k.row(j) + l;
      part.store(part.load(to_k) + d_sum, to_k);
      to_q = to_q + d_sum;
      to_v = hn::MulAdd(d[j], t.value, to_v);
    }
    part.store(to_q, d_q + l);
    part.store(to_v, d_v + l);
  });
}

inline constexpr int kKeysTogether = 4;          ///< enough independent divisions to keep the divider busy
inline constexpr Index kBlockBytes = 64 * 1024;  ///< keys that stay in the second-level cache for all queries

template <class T>
HWY_INLINE bool has_factors(const ScoreSide<T>& side, Index row) {
  return side.prepared(row, 0) != kNoFactors<T>;
}

/// Of the keys from `first` to `end` calls several(j) for kKeysTogether at a time that have factors, as query i has, one(j)
/// for one that has, and plain(j) for one that meets the query without.
template <class T, class Several, class One, class Plain>
HWY_INLINE void each_key(const ScoreSide<T>& q, Index i, const ScoreSide<T>& k, Index first, Index end,
                         const Several& several, const One& one, const Plain& plain) {
  const bool fast = has_factors(q, i);
  for (Index j = first; j < end;) {
    Index run = 0;
    while (fast && run < kKeysTogether && j + run < end && has_factors(k, j + run)) ++run;
    if (run == 0) {
      plain(j++);
    } else if (run == kKeysTogether) {
      several(j), j += run;
    } else {
      for (; run > 0; --run) one(j++);
    }
  }
}

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
  for (Index first = 0; first < m; first += block) {
    const Index end = std::min(m, first + block);
    for (Index i = 0; i < q.x.rows; ++i) {
      const T* from = q.prepared.row(i);
      each_key(
          q, i, k, first, end,
          [&](Index j) HWY_ATTR {
            fast_scores<kKeysTogether>(from, k.prepared.row_range(j, kKeysTogether), v.data(), e.row(i) + j);
          },
          [&](Index j) HWY_ATTR { fast_scores<1>(from, k.prepared.row_range(j, 1), v.data(), e.row(i) + j); },
          [&](Index j) HWY_ATTR { e(i, j) = slow_score(q.x.row(i), k.x.row(j), v.data(), a); });
    }
  }
}

template <class T>
void additive_scores_backward(const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v,
                              Matrix<const T> d_e, Matrix<T> d_q, Matrix<T> d_k, std::span<T> d_v) {
  const auto of_factors = [](Vec<T> x, Vec<T> y) HWY_ATTR { return Bend<T>::of_factors(x, y); };
  const auto of_sum = [](Vec<T> x, Vec<T> y) HWY_ATTR { return Bend<T>::of_sum(x, y); };
  for (Index i = 0; i < q.x.rows; ++i) {
    const T* const d = d_e.row(i);
    each_key(
        q, i, k, 0, k.x.rows,
        [&](Index j) HWY_ATTR {
          add_derivatives<kKeysTogether>(q.prepared.row(i), k.prepared.row_range(j, kKeysTogether), v.data(),
                                         d + j, d_q.row(i), d_k.row_range(j, kKeysTogether), d_v.data(),
                                         of_factors);
        },
        [&](Index j) HWY_ATTR {
          add_derivatives<1>(q.prepared.row(i), k.prepared.row_range(j, 1), v.data(), d + j, d_q.row(i),
                             d_k.row_range(j, 1), d_v.data(), of_factors);
        },
        [&](Index j) HWY_ATTR {
          add_derivatives<1>(q.x.row(i), k.x.row_range(j, 1), v.data(), d + j, d_q.row(i),
                             d_k.row_range(j, 1), d_v.data(), of_sum);
        });
  }
}

namespace {

/// Of `count` rows of m: d_alpha_j += d_c . m_j, d_m_j += alpha_j d_c.
template <int count, class T>
HWY_INLINE void add_sum_derivatives(const T* alpha, Matrix<const T> m, const T* d_c, T* d_alpha,
                                    Matrix<T> d_m) {
  Vec<T> weight[count], dot[count];
#pragma GCC unroll 8
  for (int j = 0; j < count; ++j) weight[j] = set(alpha[j]), dot[j] = set(T{0});
  for_vectors<T>(m.cols, [&](Index l, auto part) HWY_ATTR {
    const Vec<T> d = part.load(d_c + l);
#pragma GCC unroll 8
    for (int j = 0; j < count; ++j) {
      T* const to = d_m.row(j) + l;
      dot[j] = hn::MulAdd(d, part.load(m.row(j) + l), dot[j]);
      part.store(hn::MulAdd(weight[j], d, part.load(to)), to);
    }
  });
  for (int j = 0; j < count; ++j) d_alpha[j] += sum_of_lanes<T>(dot[j]);
}

}  // namespace

template <class T>
void weighted_sum_backward(std::span<const T> alpha, Matrix<const T> m, std::span<const T> d_c,
                           std::span<T> d_alpha, Matrix<T> d_m) {
  Index j = 0;
  for (; j + kKeysTogether <= m.rows; j += kKeysTogether)
    add_sum_derivatives<kKeysTogether>(alpha.data() + j, m.row_range(j, kKeysTogether), d_c.data(),
                                       d_alpha.data() + j, d_m.row_range(j, kKeysTogether));
  for (; j < m.rows; ++j)
    add_sum_derivatives<1>(alpha.data() + j, m.row_range(j, 1), d_c.data(), d_alpha.data() + j,
                           d_m.row_range(j, 1));
}

HEED_TARGET_KERNEL(additive_factors)
HEED_TARGET_KERNEL(additive_scores)
HEED_TARGET_KERNEL(additive_scores_backward)
HEED_TARGET_KERNEL(weighted_sum_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, additive_factors, (Matrix<const T> x, Matrix<T> factors), (x, factors))
HEED_KERNEL(void, additive_scores,
            (const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<T> e), (q, k, v, e))
HEED_KERNEL(void, additive_scores_backward,
            (const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<const T> d_e,
             Matrix<T> d_q, Matrix<T> d_k, std::span<T> d_v),
            (q, k, v, d_e, d_q, d_k, d_v))
HEED_KERNEL(void, weighted_sum_backward,
            (std::span<const T> alpha, Matrix<const T> m, std::span<const T> d_c, std::span<T> d_alpha,
             Matrix<T> d_m),
            (alpha, m, d_c, d_alpha, d_m))

}  // namespace heed
#endif
