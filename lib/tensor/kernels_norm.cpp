// Layer normalisation: J. L. Ba, J. R. Kiros, G. E. Hinton: Layer normalization, 2016. Root mean square
// normalisation: B. Zhang, R. Sennrich: Root mean square layer normalization, 2019.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_norm.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// s = x + dropout(sub), one row whose first element is number `first` of the tensor.
template <class T>
HWY_INLINE void add_dropped(const T* x, const T* sub, KeepFactors<T>& keep, bool drop, Index first, Index d,
                            T* s) {
  if (!drop) {
    for_vectors<T>(
        d, [&](Index j, auto part) HWY_ATTR { part.store(part.load(x + j) + part.load(sub + j), s + j); });
    return;
  }
  keep.for_runs(first, d, [&](Index from, Index count, const T* factors) HWY_ATTR {
    for_vectors<T>(count, [&](Index i, auto part) HWY_ATTR {
      const Index j = from + i;
      part.store(hn::MulAdd(part.load(sub + j), part.load(factors + i), part.load(x + j)), s + j);
    });
  });
}

template <class T>
struct Moments {
  T mean, variance;
};

/// Mean and biased variance; two passes over a row in L1, so that a large mean loses no precision.
template <class T>
HWY_INLINE Moments<T> moments_of_row(const T* s, Index d) {
  Vec<T> sum = set(T{0}), squares = sum;
  for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR { sum = sum + part.load(s + j); });
  const T mean = sum_of_lanes<T>(sum) / static_cast<T>(d);
  for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
    const Vec<T> centred = part.only(part.load(s + j) - set(mean), 0);
    squares = hn::MulAdd(centred, centred, squares);
  });
  return {mean, sum_of_lanes<T>(squares) / static_cast<T>(d)};
}

}  // namespace

template <class T>
void add_layer_norm(Matrix<const T> x, Matrix<const T> sub, const Dropout& drop, std::span<const T> gamma,
                    std::span<const T> beta, T eps, Matrix<T> s, Matrix<T> y, std::span<T> mean,
                    std::span<T> rstd) {
  const Index d = x.cols;
  KeepFactors<T> keep(drop);
  for (Index i = 0; i < x.rows; ++i) {
    const T* row = x.row(i);
    if (sub.data) {
      add_dropped(row, sub.row(i), keep, drop.active(), i * d, d, s.row(i));
      row = s.row(i);
    } else if (s.data && s.data != x.data) {
      std::copy(row, row + d, s.row(i));
    }
    const Moments<T> moments = moments_of_row(row, d);
    mean[i] = moments.mean;
    rstd[i] = 1 / std::sqrt(moments.variance + eps);
    const Vec<T> centre = set(mean[i]), scale = set(rstd[i]);
    for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> normed = (part.load(row + j) - centre) * scale;
      part.store(hn::MulAdd(normed, part.load(&gamma[j]), part.load(&beta[j])), y.row(i) + j);
    });
  }
}

// With n = (s - mean) rstd and g = d_y gamma:  d_s = rstd (g - mean(g) - n mean(g n)).
template <class T>
void layer_norm_backward(Matrix<const T> s, std::span<const T> mean, std::span<const T> rstd,
                         std::span<const T> gamma, Matrix<const T> d_y, Matrix<T> d_s, std::span<T> d_gamma,
                         std::span<T> d_beta) {
  const Index d = s.cols;
  for (Index i = 0; i < s.rows; ++i) {
    const T *row = s.row(i), *d_row = d_y.row(i);
    const Vec<T> centre = set(mean[i]), scale = set(rstd[i]);
    Vec<T> sum = set(T{0}), dot = sum;
    for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> d_out = part.load(d_row + j), normed = (part.load(row + j) - centre) * scale;
      const Vec<T> g = d_out * part.load(&gamma[j]);
      sum = sum + g;
      dot = hn::MulAdd(g, normed, dot);
      part.store(hn::MulAdd(d_out, normed, part.load(&d_gamma[j])), &d_gamma[j]);
      part.store(d_out + part.load(&d_beta[j]), &d_beta[j]);
    });
    const Vec<T> mean_g = set(sum_of_lanes<T>(sum) / static_cast<T>(d));
    const Vec<T> mean_gn = set(sum_of_lanes<T>(dot) / static_cast<T>(d));
    for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> normed = (part.load(row + j) - centre) * scale;
      const Vec<T> g = part.load(d_row + j) * part.load(&gamma[j]);
      part.store(scale * hn::NegMulAdd(normed, mean_gn, g - mean_g), d_s.row(i) + j);
    });
  }
}

template <class T>
void rms_norm(Matrix<const T> x, std::span<const T> gamma, T eps, Matrix<T> y, std::span<T> rstd) {
  const Index d = gamma.size(), runs = x.cols / d;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index r = 0; r < runs; ++r) {
      const T* from = x.row(i) + r * d;
      T* to = y.row(i) + r * d;
      Vec<T> squares = set(T{0});
      for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
        squares = hn::MulAdd(part.load(from + j), part.load(from + j), squares);
      });
      const T scale = 1 / std::sqrt(sum_of_lanes<T>(squares) / static_cast<T>(d) + eps);
      rstd[i * runs + r] = scale;
      for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
        part.store(part.load(from + j) * set(scale) * part.load(&gamma[j]), to + j);
      });
    }
  }
}

// With n = x rstd and g = d_y gamma:  d_x += rstd (g - n mean(g n)).
template <class T>
void rms_norm_backward(Matrix<const T> x, std::span<const T> rstd, std::span<const T> gamma,
                       Matrix<const T> d_y, Matrix<T> d_x, std::span<T> d_gamma) {
  const Index d = gamma.size(), runs = x.cols / d;
  for (Index i = 0; i < x.rows; ++i) {
    for (Index r = 0; r < runs; ++r) {
      const T *from = x.row(i) + r * d, *d_from = d_y.row(i) + r * d;
      T* d_to = d_x.row(i) + r * d;
      const Vec<T> scale = set(rstd[i * runs + r]);
      Vec<T> dot = set(T{0});
      for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
        const Vec<T> d_out = part.load(d_from + j), normed = part.load(from + j) * scale;
        dot = hn::MulAdd(d_out * part.load(&gamma[j]), normed, dot);
        part.store(hn::MulAdd(d_out, normed, part.load(&d_gamma[j])), &d_gamma[j]);
      });
      const Vec<T> mean_gn = set(sum_of_lanes<T>(dot) / static_cast<T>(d));
      for_vectors<T>(d, [&](Index j, auto part) HWY_ATTR {
        const Vec<T> g = part.load(d_from + j) * part.load(&gamma[j]), normed = part.load(from + j) * scale;
        part.store(hn::MulAdd(scale, hn::NegMulAdd(normed, mean_gn, g), part.load(d_to + j)), d_to + j);
      });
    }
  }
}

HEED_TARGET_KERNEL(add_layer_norm)
HEED_TARGET_KERNEL(layer_norm_backward)
HEED_TARGET_KERNEL(rms_norm)
HEED_TARGET_KERNEL(rms_norm_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, add_layer_norm,
            (Matrix<const T> x, Matrix<const T> sub, const Dropout& drop, std::span<const T> gamma,
             std::span<const T> beta, T eps, Matrix<T> s, Matrix<T> y, std::span<T> mean, std::span<T> rstd),
            (x, sub, drop, gamma, beta, eps, s, y, mean, rstd))
HEED_KERNEL(void, layer_norm_backward,
            (Matrix<const T> s, std::span<const T> mean, std::span<const T> rstd, std::span<const T> gamma,
             Matrix<const T> d_y, Matrix<T> d_s, std::span<T> d_gamma, std::span<T> d_beta),
            (s, mean, rstd, gamma, d_y, d_s, d_gamma, d_beta))
HEED_KERNEL(void, rms_norm,
            (Matrix<const T> x, std::span<const T> gamma, T eps, Matrix<T> y, std::span<T> rstd),
            (x, gamma, eps, y, rstd))
HEED_KERNEL(void, rms_norm_backward,
            (Matrix<const T> x, std::span<const T> rstd, std::span<const T> gamma, Matrix<const T> d_y,
             Matrix<T> d_x, std::span<T> d_gamma),
            (x, rstd, gamma, d_y, d_x, d_gamma))

}  // namespace heed
#endif
