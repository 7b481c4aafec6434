// Softmax of one row, shared by the row kernels and attention. Per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_SOFTMAX_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_SOFTMAX_H
#undef HEED_TENSOR_SIMD_SOFTMAX_H
#else
#define HEED_TENSOR_SIMD_SOFTMAX_H
#endif

#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

// Softmax in three steps, so that attention can run each step for all rows: rows are short, and the processor
// overlaps the same step of different rows better than the steps of one row.

/// The shift to subtract before exp: the maximum, or 0 when all are -infinity.
template <class T>
HWY_INLINE T softmax_shift(const T* x, Index n) {
  const T max = max_of_row<T>(x, n);
  return max == kMinusInfinity<T> ? T{0} : max;
}

/// x = exp(x - shift); returns the factor that normalises the sum to 1, or 0 when all are 0. NaN propagates.
template <class T>
HWY_INLINE T softmax_exp(T* x, Index n, T shift) {
  Vec<T> sums = set(T{0});
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR {
    const Vec<T> e = exp_of_negative<T>(part.load(x + i) - set(shift));
    part.store(e, x + i);
    sums = sums + part.only(e, 0);
  });
  const T sum = sum_of_lanes<T>(sums);
  return sum == 0 ? T{0} : 1 / sum;
}

template <class T>
HWY_INLINE void scale_row(T* x, Index n, T factor) {
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR { part.store(part.load(x + i) * set(factor), x + i); });
}

/// x = softmax(x); exactly 0 where x is -infinity, all zeros when all are. NaN propagates to the whole row.
template <class T>
HWY_INLINE void softmax_row(T* x, Index n) {
  scale_row(x, n, softmax_exp(x, n, softmax_shift(x, n)));
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
