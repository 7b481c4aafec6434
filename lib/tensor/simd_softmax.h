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

/// x = softmax(x); exactly 0 where x is -infinity, all zeros when all are. NaN spreads over the row.
template <class T>
HWY_INLINE void softmax_row(T* x, Index n) {
  const T max = max_of_row<T>(x, n);
  const Vec<T> shift = set(max == minus_infinity<T> ? T{0} : max);
  Vec<T> sums = set(T{0});
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR {
    const Vec<T> e = exp<T>(part.load(x + i) - shift);
    part.store(e, x + i);
    sums = sums + part.only(e, 0);
  });
  const T sum = sum_of_lanes<T>(sums);
  const Vec<T> inverse = set(sum == 0 ? T{0} : 1 / sum);
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR { part.store(part.load(x + i) * inverse, x + i); });
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
