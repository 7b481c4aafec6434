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

/// Calls body(row, j, part) for every vector of a row of `width` columns, row by row.
template <class T, class Body>
HWY_INLINE void each_vector(Index rows, Index width, const Body& body) {
  for (Index row = 0; row < rows; ++row)
    for_vectors<T>(width, [&](Index j, auto part) HWY_ATTR { body(row, j, part); });
}

template <class T>
void rnn_forward(Matrix<const T> x, Matrix<const T> products, Matrix<T> h) {
  each_vector<T>(h.rows, h.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> sum = part.load(x.row(row) + j) + part.load(products.row(row) + j);
    part.store(Tanh<T>::value(sum), h.row(row) + j);
  });
}

template <class T>
void rnn_backward(Matrix<const T> h, Matrix<const T> d_h, Matrix<T> d_sums) {
  each_vector<T>(h.rows, h.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> slope = Tanh<T>::slope(part.load(h.row(row) + j));
    part.store(part.load(d_h.row(row) + j) * slope, d_sums.row(row) + j);
  });
}

template <class T>
void gru_gates(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> reset) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    part.store(Sigmoid<T>::value(part.load(in) + part.load(gate)), gate);
    const Vec<T> r = Sigmoid<T>::value(part.load(in + h) + part.load(gate + h));
    part.store(r, gate + h);
    part.store(r * part.load(h_prev.row(row) + j), reset.row(row) + j);
  });
}

/// h' + z (g - h').
template <class T>
HWY_INLINE Vec<T> gru_mix(Vec<T> z, Vec<T> g, Vec<T> old) {
  return hn::MulAdd(z, g - old, old);
}

template <class T>
void gru_state(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> h_now) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    T* gate = gates.row(row) + j;
    const Vec<T> g = Tanh<T>::value(part.load(x.row(row) + 2 * h + j) + part.load(gate + 2 * h));
    part.store(g, gate + 2 * h);
    part.store(gru_mix<T>(part.load(gate), g, part.load(h_prev.row(row) + j)), h_now.row(row) + j);
  });
}

/// The gradients of z, g and h' before their nonlinearities, from that of h.
template <class T>
struct GruSlopes {
  Vec<T> z, g, old;

  HWY_INLINE GruSlopes(Vec<T> d_h, Vec<T> gate_z, Vec<T> gate_g, Vec<T> h_prev)
      : z(d_h * (gate_g - h_prev) * Sigmoid<T>::slope(gate_z)),
        g(d_h * gate_z * Tanh<T>::slope(gate_g)),
        old(hn::NegMulAdd(d_h, gate_z, d_h)) {}
};

template <class T>
void gru_state_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<T> d_h, Matrix<T> d_sums) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *d = d_h.row(row) + j;
    const GruSlopes<T> slopes(part.load(d), part.load(gate), part.load(gate + 2 * h),
                              part.load(h_prev.row(row) + j));
    part.store(slopes.z, d_sum);
    part.store(slopes.g, d_sum + 2 * h);
    part.store(slopes.old, d);
  });
}

template <class T>
void gru_gates_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<const T> d_reset, Matrix<T> d_h,
                        Matrix<T> d_sums) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> r = part.load(gates.row(row) + h + j), d_r = part.load(d_reset.row(row) + j);
    T* d = d_h.row(row) + j;
    part.store(d_r * part.load(h_prev.row(row) + j) * Sigmoid<T>::slope(r), d_sums.row(row) + h + j);
    part.store(hn::MulAdd(d_r, r, part.load(d)), d);
  });
}

template <class T>
void gru_after_forward(Matrix<const T> x, Matrix<T> gates, Matrix<const T> bias, Matrix<const T> h_prev,
                       Matrix<T> inner, Matrix<T> h_now) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    const Vec<T> z = Sigmoid<T>::value(part.load(in) + part.load(gate));
    const Vec<T> r = Sigmoid<T>::value(part.load(in + h) + part.load(gate + h));
    const Vec<T> u = part.load(gate + 2 * h) + part.load(bias.data + j);
    const Vec<T> g = Tanh<T>::value(hn::MulAdd(r, u, part.load(in + 2 * h)));
    part.store(z, gate);
    part.store(r, gate + h);
    part.store(g, gate + 2 * h);
    part.store(u, inner.row(row) + j);
    part.store(gru_mix<T>(z, g, part.load(h_prev.row(row) + j)), h_now.row(row) + j);
  });
}

template <class T>
void gru_after_backward(Matrix<const T> gates, Matrix<const T> inner, Matrix<const T> h_prev, Matrix<T> d_h,
                        Matrix<T> d_sums, Matrix<T> d_products) {
  const Index h = h_prev.cols;
  each_vector<T>(h_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *d_product = d_products.row(row) + j, *d = d_h.row(row) + j;
    const Vec<T> r = part.load(gate + h);
    const GruSlopes<T> slopes(part.load(d), part.load(gate), part.load(gate + 2 * h),
                              part.load(h_prev.row(row) + j));
    const Vec<T> d_r = slopes.g * part.load(inner.row(row) + j) * Sigmoid<T>::slope(r);
    part.store(slopes.z, d_sum);
    part.store(d_r, d_sum + h);
    part.store(slopes.g, d_sum + 2 * h);
    part.store(slopes.z, d_product);
    part.store(d_r, d_product + h);
    part.store(slopes.g * r, d_product + 2 * h);
    part.store(slopes.old, d);
  });
}

template <class T>
void lstm_memory(Matrix<const T> x, Matrix<T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                 Matrix<T> c_now) {
  const Index h = c_prev.cols;
  each_vector<T>(c_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    const Vec<T> old = part.load(c_prev.row(row) + j);
    // The sum of a gate, with what its peephole sees.
    auto sum = [&](Index k, const T* peephole, Vec<T> seen) HWY_ATTR {
      const Vec<T> total = part.load(in + k * h) + part.load(gate + k * h);
      return peephole ? hn::MulAdd(part.load(peephole + j), seen, total) : total;
    };
    const Vec<T> i = Sigmoid<T>::value(sum(0, peepholes.input, old)),
                 f = Sigmoid<T>::value(sum(1, peepholes.forget, old)),
                 g = Tanh<T>::value(sum(3, nullptr, old)), c = hn::MulAdd(f, old, i * g);
    part.store(i, gate);
    part.store(f, gate + h);
    part.store(Sigmoid<T>::value(sum(2, peepholes.output, c)), gate + 2 * h);
    part.store(g, gate + 3 * h);
    part.store(c, c_now.row(row) + j);
  });
}

template <class T>
void lstm_output(Matrix<const T> gates, Matrix<const T> c, Matrix<T> h) {
  each_vector<T>(c.rows, c.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> o = part.load(gates.row(row) + 2 * c.cols + j);
    part.store(o * Tanh<T>::value(part.load(c.row(row) + j)), h.row(row) + j);
  });
}

template <class T>
void lstm_output_backward(Matrix<const T> gates, Matrix<const T> c, Matrix<const T> d_h, Matrix<T> d_sums,
                          Matrix<T> d_c) {
  const Index h = c.cols;
  each_vector<T>(c.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> o = part.load(gates.row(row) + 2 * h + j), t = Tanh<T>::value(part.load(c.row(row) + j)),
                 d = part.load(d_h.row(row) + j);
    T* to = d_c.row(row) + j;
    part.store(d * t * Sigmoid<T>::slope(o), d_sums.row(row) + 2 * h + j);
    part.store(hn::MulAdd(d * o, Tanh<T>::slope(t), part.load(to)), to);
  });
}

template <class T>
void lstm_memory_backward(Matrix<const T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                          Matrix<T> d_c, Matrix<T> d_sums) {
  const Index h = c_prev.cols;
  each_vector<T>(c_prev.rows, h, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *to = d_c.row(row) + j;
    const Vec<T> i = part.load(gate), f = part.load(gate + h), g = part.load(gate + 3 * h);
    auto through = [&](const T* peephole, Vec<T> d_gate, Vec<T> other) HWY_ATTR {
      return peephole ? hn::MulAdd(part.load(peephole + j), d_gate, other) : other;
    };
    const Vec<T> d = through(peepholes.output, part.load(d_sum + 2 * h), part.load(to));
    const Vec<T> d_i = d * g * Sigmoid<T>::slope(i);
    const Vec<T> d_f = d * part.load(c_prev.row(row) + j) * Sigmoid<T>::slope(f);
    part.store(d_i, d_sum);
    part.store(d_f, d_sum + h);
    part.store(d * i * Tanh<T>::slope(g), d_sum + 3 * h);
    part.store(through(peepholes.input, d_i, through(peepholes.forget, d_f, d * f)), to);
  });
}

HEED_TARGET_KERNEL(multiply_add)
HEED_TARGET_KERNEL(rnn_forward)
HEED_TARGET_KERNEL(rnn_backward)
HEED_TARGET_KERNEL(gru_gates)
HEED_TARGET_KERNEL(gru_state)
HEED_TARGET_KERNEL(gru_state_backward)
HEED_TARGET_KERNEL(gru_gates_backward)
HEED_TARGET_KERNEL(gru_after_forward)
HEED_TARGET_KERNEL(gru_after_backward)
HEED_TARGET_KERNEL(lstm_memory)
HEED_TARGET_KERNEL(lstm_output)
HEED_TARGET_KERNEL(lstm_output_backward)
HEED_TARGET_KERNEL(lstm_memory_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_EXPORT_KERNEL(multiply_add)
HEED_EXPORT_KERNEL(rnn_forward)
HEED_EXPORT_KERNEL(rnn_backward)
HEED_EXPORT_KERNEL(gru_gates)
HEED_EXPORT_KERNEL(gru_state)
HEED_EXPORT_KERNEL(gru_state_backward)
HEED_EXPORT_KERNEL(gru_gates_backward)
HEED_EXPORT_KERNEL(gru_after_forward)
HEED_EXPORT_KERNEL(gru_after_backward)
HEED_EXPORT_KERNEL(lstm_memory)
HEED_EXPORT_KERNEL(lstm_output)
HEED_EXPORT_KERNEL(lstm_output_backward)
HEED_EXPORT_KERNEL(lstm_memory_backward)

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  HEED_DISPATCH(multiply_add)(a, b, y);
}
template <class T>
void rnn_forward(Matrix<const T> x, Matrix<const T> products, Matrix<T> h) {
  HEED_DISPATCH(rnn_forward)(x, products, h);
}
template <class T>
void rnn_backward(Matrix<const T> h, Matrix<const T> d_h, Matrix<T> d_sums) {
  HEED_DISPATCH(rnn_backward)(h, d_h, d_sums);
}
template <class T>
void gru_gates(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> reset) {
  HEED_DISPATCH(gru_gates)(x, gates, h_prev, reset);
}
template <class T>
void gru_state(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> h) {
  HEED_DISPATCH(gru_state)(x, gates, h_prev, h);
}
template <class T>
void gru_state_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<T> d_h, Matrix<T> d_sums) {
  HEED_DISPATCH(gru_state_backward)(gates, h_prev, d_h, d_sums);
}
template <class T>
void gru_gates_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<const T> d_reset, Matrix<T> d_h,
                        Matrix<T> d_sums) {
  HEED_DISPATCH(gru_gates_backward)(gates, h_prev, d_reset, d_h, d_sums);
}
template <class T>
void gru_after_forward(Matrix<const T> x, Matrix<T> gates, Matrix<const T> bias, Matrix<const T> h_prev,
                       Matrix<T> inner, Matrix<T> h) {
  HEED_DISPATCH(gru_after_forward)(x, gates, bias, h_prev, inner, h);
}
template <class T>
void gru_after_backward(Matrix<const T> gates, Matrix<const T> inner, Matrix<const T> h_prev, Matrix<T> d_h,
                        Matrix<T> d_sums, Matrix<T> d_products) {
  HEED_DISPATCH(gru_after_backward)(gates, inner, h_prev, d_h, d_sums, d_products);
}
template <class T>
void lstm_memory(Matrix<const T> x, Matrix<T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                 Matrix<T> c) {
  HEED_DISPATCH(lstm_memory)(x, gates, peepholes, c_prev, c);
}
template <class T>
void lstm_output(Matrix<const T> gates, Matrix<const T> c, Matrix<T> h) {
  HEED_DISPATCH(lstm_output)(gates, c, h);
}
template <class T>
void lstm_output_backward(Matrix<const T> gates, Matrix<const T> c, Matrix<const T> d_h, Matrix<T> d_sums,
                          Matrix<T> d_c) {
  HEED_DISPATCH(lstm_output_backward)(gates, c, d_h, d_sums, d_c);
}
template <class T>
void lstm_memory_backward(Matrix<const T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                          Matrix<T> d_c, Matrix<T> d_sums) {
  HEED_DISPATCH(lstm_memory_backward)(gates, peepholes, c_prev, d_c, d_sums);
}

HEED_INSTANTIATE(multiply_add)
HEED_INSTANTIATE(rnn_forward)
HEED_INSTANTIATE(rnn_backward)
HEED_INSTANTIATE(gru_gates)
HEED_INSTANTIATE(gru_state)
HEED_INSTANTIATE(gru_state_backward)
HEED_INSTANTIATE(gru_gates_backward)
HEED_INSTANTIATE(gru_after_forward)
HEED_INSTANTIATE(gru_after_backward)
HEED_INSTANTIATE(lstm_memory)
HEED_INSTANTIATE(lstm_output)
HEED_INSTANTIATE(lstm_output_backward)
HEED_INSTANTIATE(lstm_memory_backward)

}  // namespace heed
#endif
