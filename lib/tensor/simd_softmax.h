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

/// The shift to subtract before exp: the maximum, or 0 when all are -infinity.
template <class T>
HWY_INLINE Vec<T> softmax_shift(Vec<T> max) {
  return hn::IfThenElse(max == set(kMinusInfinity<T>), set(T{0}), max);
}

/// x = exp(x - shift); returns a vector whose lanes add up to the sum. NaN propagates.
template <class T>
HWY_INLINE Vec<T> softmax_exp(T* x, Index n, Vec<T> shift) {
  Vec<T> sums = set(T{0});
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR {
    const Vec<T> e = exp_of_negative<T>(part.load(x + i) - shift);
    part.store(e, x + i);
    sums = sums + part.only(e, 0);
  });
  return sums;
}

/// What normalises a sum to 1, or 0 when all are 0.
template <class T>
HWY_INLINE Vec<T> softmax_factor(Vec<T> sum) {
  return hn::IfThenZeroElse(sum == set(T{0}), set(T{1}) / sum);
}

template <class T>
HWY_INLINE void scale_row(T* x, Index n, T factor) {
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR { part.store(part.load(x + i) * set(factor), x + i); });
}

/// x = softmax(x); exactly 0 where x is -infinity, all zeros when all are. NaN propagates to the whole row.
template <class T>
HWY_INLINE void softmax_row(T* x, Index n) {
  const Vec<T> shift = softmax_shift<T>(set(max_of_row<T>(x, n)));
  const T sum = sum_of_lanes<T>(softmax_exp(x, n, shift));
  scale_row(x, n, hn::GetLane(softmax_factor<T>(set(sum))));
}

/// The same of the first n columns of every row, but for the last step: x = exp(x - shift), and factor[i], up to whole
/// vectors of them, is what makes row i a distribution. Rows of attention are short: what is done across the lanes of a
/// vector is done for a vector of rows at once.
template <class T>
HWY_INLINE void exponentiate_rows(Matrix<T> x, Index n, T* factor) {
  constexpr Index lanes = kLanes<T>;
  HWY_ALIGN T of_rows[lanes * lanes];
  const Whole<T> all;
  for (Index first = 0; first < x.rows; first += lanes) {
    const Index rows = std::min(lanes, x.rows - first);
    auto vector = [&](Index i) HWY_ATTR { return all.load(of_rows + std::min(i, rows - 1) * lanes); };
    for (Index i = 0; i < rows; ++i) all.store(max_within_row(x.row(first + i), n), of_rows + i * lanes);
    all.store(softmax_shift<T>(maxima_of_lanes<T, lanes>(vector)), factor + first);
    for (Index i = 0; i < rows; ++i)
      all.store(softmax_exp(x.row(first + i), n, set(factor[first + i])), of_rows + i * lanes);
    all.store(softmax_factor<T>(sums_of_lanes<T, lanes>(vector)), factor + first);
  }
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
