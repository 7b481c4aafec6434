// Elementwise kernels over flat arrays.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_elementwise.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_activation.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

template <class T>
void add_to(std::span<const T> x, std::span<T> y) {
  for_vectors<T>(
      y.size(), [&](Index i, auto part) HWY_ATTR { part.store(part.load(&y[i]) + part.load(&x[i]), &y[i]); });
}

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  for (Index row = 0; row < y.rows; ++row) {
    const T *from_a = a.row(row), *from_b = b.row(row);
    T* to = y.row(row);
    for_vectors<T>(y.cols, [&](Index j, auto part) HWY_ATTR {
      part.store(hn::MulAdd(part.load(from_a + j), part.load(from_b + j), part.load(to + j)), to + j);
    });
  }
}

template <class T>
void scale_by(T factor, std::span<T> x) {
  for_vectors<T>(x.size(),
                 [&](Index i, auto part) HWY_ATTR { part.store(part.load(&x[i]) * set(factor), &x[i]); });
}

template <class T>
void apply(Activation f, std::span<const T> x, std::span<T> y) {
  with_activation<T>(f, [&](auto function) HWY_ATTR {
    for_vectors<T>(x.size(),
                   [&](Index i, auto part) HWY_ATTR { part.store(function.value(part.load(&x[i])), &y[i]); });
  });
}

template <class T>
void apply_backward(Activation f, std::span<const T> y, std::span<const T> d_y, std::span<T> d_x,
                    bool accumulate) {
  const Vec<T> keep = set(accumulate ? T{1} : T{0});
  with_activation<T>(f, [&](auto function) HWY_ATTR {
    for_vectors<T>(y.size(), [&](Index i, auto part) HWY_ATTR {
      const Vec<T> d = part.load(&d_y[i]) * function.slope(part.load(&y[i]));
      // A select, not a product: an overwritten d_x may hold NaN.
      part.store(hn::IfThenElse(keep > hn::Zero(Tag<T>()), part.load(&d_x[i]) + d, d), &d_x[i]);
    });
  });
}

template <class T>
void dropout(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  KeepFactors<T> keep(drop);
  keep.for_runs(0, x.size(), [&](Index first, Index count, const T* factors) HWY_ATTR {
    for_vectors<T>(count, [&](Index i, auto part) HWY_ATTR {
      part.store(part.load(&x[first + i]) * part.load(factors + i), &y[first + i]);
    });
  });
}

template <class T>
void dropout_add(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  KeepFactors<T> keep(drop);
  keep.for_runs(0, x.size(), [&](Index first, Index count, const T* factors) HWY_ATTR {
    for_vectors<T>(count, [&](Index i, auto part) HWY_ATTR {
      T* to = &y[first + i];
      part.store(hn::MulAdd(part.load(&x[first + i]), part.load(factors + i), part.load(to)), to);
    });
  });
}

void round_to_bfloat16(std::span<const float> x, std::span<float> y) {
  for_vectors<float>(x.size(), [&](Index i, auto part) HWY_ATTR {
    part.store(hn::BitCast(Tag<float>(), rounded_to_bfloat16(part.load(&x[i]))), &y[i]);
  });
}

HEED_TARGET_KERNEL(add_to)
HEED_TARGET_KERNEL(multiply_add)
HEED_TARGET_KERNEL(scale_by)
HEED_TARGET_KERNEL(apply)
HEED_TARGET_KERNEL(apply_backward)
HEED_TARGET_KERNEL(dropout)
HEED_TARGET_KERNEL(dropout_add)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_EXPORT_KERNEL(apply)
HEED_EXPORT_KERNEL(dropout)
HEED_EXPORT_KERNEL(dropout_add)
HEED_VERSIONS(round_to_bfloat16)

void round_to_bfloat16(std::span<const float> x, std::span<float> y) {
  round_to_bfloat16_versions.best()(x, y);
}

template <class T>
void apply_curve(Activation f, std::span<const T> x, std::span<T> y);  // kernels_activation.cpp

template <class T>
void apply(Activation f, std::span<const T> x, std::span<T> y) {
  if (slope_follows_from_value(f)) return HEED_DISPATCH(apply)(f, x, y);
  apply_curve(f, x, y);
}

template <class T>
void fill(std::span<T> x, T value) {
  std::fill(x.begin(), x.end(), value);
}
HEED_KERNEL(void, add_to, (std::span<const T> x, std::span<T> y), (x, y))
HEED_KERNEL(void, multiply_add, (Matrix<const T> a, Matrix<const T> b, Matrix<T> y), (a, b, y))
HEED_KERNEL(void, scale_by, (T factor, std::span<T> x), (factor, x))
HEED_KERNEL(void, apply_backward,
            (Activation f, std::span<const T> y, std::span<const T> d_y, std::span<T> d_x, bool accumulate),
            (f, y, d_y, d_x, accumulate))
template <class T>
void dropout(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  if (drop.active()) return HEED_DISPATCH(dropout)(drop, x, y);
  if (x.data() != y.data()) std::copy(x.begin(), x.end(), y.begin());
}
template <class T>
void dropout_add(const Dropout& drop, std::span<const T> x, std::span<T> y) {
  if (drop.active()) return HEED_DISPATCH(dropout_add)(drop, x, y);
  add_to(x, y);
}

HEED_INSTANTIATE(apply)
HEED_INSTANTIATE(fill)
HEED_INSTANTIATE(dropout)
HEED_INSTANTIATE(dropout_add)

}  // namespace heed
#endif
