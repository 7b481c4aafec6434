// One step of recurrent cells.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_recurrent.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/kernels_recurrent.h"
#include "tensor/simd_activation.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

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
void interpolate(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  for (Index row = 0; row < y.rows; ++row) {
    const T *from_z = z.row(row), *from_a = a.row(row), *from_b = b.row(row);
    T* to = y.row(row);
    for_vectors<T>(y.cols, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> old = part.load(from_a + j);
      part.store(hn::MulAdd(part.load(from_z + j), part.load(from_b + j) - old, old), to + j);
    });
  }
}

template <class T>
void interpolate_backward(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<const T> d_y,
                          Matrix<T> d_z, Matrix<T> d_a, Matrix<T> d_b) {
  for (Index row = 0; row < d_y.rows; ++row) {
    const T *from_z = z.row(row), *from_a = a.row(row), *from_b = b.row(row), *from = d_y.row(row);
    T *to_z = d_z.row(row), *to_a = d_a.row(row), *to_b = d_b.row(row);
    for_vectors<T>(d_y.cols, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> d = part.load(from + j), share = part.load(from_z + j);
      const Vec<T> step = part.load(from_b + j) - part.load(from_a + j);
      part.store(hn::MulAdd(d, step, part.load(to_z + j)), to_z + j);
      part.store(hn::MulAdd(d, set(T{1}) - share, part.load(to_a + j)), to_a + j);
      part.store(hn::MulAdd(d, share, part.load(to_b + j)), to_b + j);
    });
  }
}

template <class T>
void lstm_forward(Matrix<const T> sums, Matrix<const T> c_prev, Matrix<T> gates, Matrix<T> state) {
  const Index h = c_prev.cols;
  for (Index row = 0; row < sums.rows; ++row) {
    const T *sum = sums.row(row), *old = c_prev.row(row);
    T *gate = gates.row(row), *to = state.row(row);
    for_vectors<T>(h, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> i = Sigmoid<T>::value(part.load(sum + j)), f = Sigmoid<T>::value(part.load(sum + h + j)),
                   o = Sigmoid<T>::value(part.load(sum + 2 * h + j)),
                   g = Tanh<T>::value(part.load(sum + 3 * h + j));
      part.store(i, gate + j);
      part.store(f, gate + h + j);
      part.store(o, gate + 2 * h + j);
      part.store(g, gate + 3 * h + j);
      const Vec<T> c = hn::MulAdd(f, part.load(old + j), i * g);
      part.store(o * Tanh<T>::value(c), to + j);
      part.store(c, to + h + j);
    });
  }
}

template <class T>
void lstm_backward(Matrix<const T> gates, Matrix<const T> c_prev, Matrix<const T> state,
                   Matrix<const T> d_state, Matrix<T> d_sums, Matrix<T> d_c_prev) {
  const Index h = c_prev.cols;
  for (Index row = 0; row < gates.rows; ++row) {
    const T *gate = gates.row(row), *old = c_prev.row(row), *now = state.row(row), *from = d_state.row(row);
    T *to = d_sums.row(row), *to_old = d_c_prev.row(row);
    for_vectors<T>(h, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> i = part.load(gate + j), f = part.load(gate + h + j), o = part.load(gate + 2 * h + j),
                   g = part.load(gate + 3 * h + j);
      const Vec<T> tanh_c = Tanh<T>::value(part.load(now + h + j)), d_h = part.load(from + j);
      const Vec<T> d_c = hn::MulAdd(d_h * o, Tanh<T>::slope(tanh_c), part.load(from + h + j));
      auto add = [&](Vec<T> d, T* p) HWY_ATTR { part.store(part.load(p) + d, p); };
      add(d_c * g * Sigmoid<T>::slope(i), to + j);
      add(d_c * part.load(old + j) * Sigmoid<T>::slope(f), to + h + j);
      add(d_h * tanh_c * Sigmoid<T>::slope(o), to + 2 * h + j);
      add(d_c * i * Tanh<T>::slope(g), to + 3 * h + j);
      add(d_c * f, to_old + j);
    });
  }
}

HEED_TARGET_KERNEL(multiply_add)
HEED_TARGET_KERNEL(interpolate)
HEED_TARGET_KERNEL(interpolate_backward)
HEED_TARGET_KERNEL(lstm_forward)
HEED_TARGET_KERNEL(lstm_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_EXPORT_KERNEL(multiply_add)
HEED_EXPORT_KERNEL(interpolate)
HEED_EXPORT_KERNEL(interpolate_backward)
HEED_EXPORT_KERNEL(lstm_forward)
HEED_EXPORT_KERNEL(lstm_backward)

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  HEED_DISPATCH(multiply_add)(a, b, y);
}
template <class T>
void interpolate(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  HEED_DISPATCH(interpolate)(z, a, b, y);
}
template <class T>
void interpolate_backward(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<const T> d_y,
                          Matrix<T> d_z, Matrix<T> d_a, Matrix<T> d_b) {
  HEED_DISPATCH(interpolate_backward)(z, a, b, d_y, d_z, d_a, d_b);
}
template <class T>
void lstm_forward(Matrix<const T> sums, Matrix<const T> c_prev, Matrix<T> gates, Matrix<T> state) {
  HEED_DISPATCH(lstm_forward)(sums, c_prev, gates, state);
}
template <class T>
void lstm_backward(Matrix<const T> gates, Matrix<const T> c_prev, Matrix<const T> state,
                   Matrix<const T> d_state, Matrix<T> d_sums, Matrix<T> d_c_prev) {
  HEED_DISPATCH(lstm_backward)(gates, c_prev, state, d_state, d_sums, d_c_prev);
}

HEED_INSTANTIATE(multiply_add)
HEED_INSTANTIATE(interpolate)
HEED_INSTANTIATE(interpolate_backward)
HEED_INSTANTIATE(lstm_forward)
HEED_INSTANTIATE(lstm_backward)

}  // namespace heed
#endif
