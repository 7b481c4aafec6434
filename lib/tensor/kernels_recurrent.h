// One step of recurrent cells, a row for each sequence; the equations are in nn/recurrent.h. Rules as in
// tensor/kernels.h. h is the width of a state; gates [n, gates h] come as the products U h', side by side as
// in the parameters, and leave as the gates' values; x [n, gates h] is what is added to them. The mirror
// images turn the gradient of the state after the step into what the state before gets directly, in place,
// and overwrite d_sums [n, gates h] by the gradient of the sums x + U h'.
#pragma once

#include "tensor/matrix.h"

namespace heed {

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y);  ///< y += a b, elementwise

/// h = tanh(x + U h'). The gradient of h' is by U alone.
template <class T>
void rnn_forward(Matrix<const T> x, Matrix<const T> products, Matrix<T> h);
template <class T>
void rnn_backward(Matrix<const T> h, Matrix<const T> d_h, Matrix<T> d_sums);

/// z and r from their products; reset = r h'.
template <class T>
void gru_gates(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> reset);
/// g from its product U (r h'); h = (1 - z) h' + z g.
template <class T>
void gru_state(Matrix<const T> x, Matrix<T> gates, Matrix<const T> h_prev, Matrix<T> h);
/// Of z and g.
template <class T>
void gru_state_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<T> d_h, Matrix<T> d_sums);
/// Of r, from d_reset; d_h += d_reset r.
template <class T>
void gru_gates_backward(Matrix<const T> gates, Matrix<const T> h_prev, Matrix<const T> d_reset, Matrix<T> d_h,
                        Matrix<T> d_sums);

/// All of gru-reset-after: inner [n, h] keeps U h' + bias of the candidate.
template <class T>
void gru_after_forward(Matrix<const T> x, Matrix<T> gates, Matrix<const T> bias, Matrix<const T> h_prev,
                       Matrix<T> inner, Matrix<T> h);
/// d_products [n, 3 h] differs from d_sums in the candidate: r stands between them.
template <class T>
void gru_after_backward(Matrix<const T> gates, Matrix<const T> inner, Matrix<const T> h_prev, Matrix<T> d_h,
                        Matrix<T> d_sums, Matrix<T> d_products);

/// Weights [h] by which an LSTM's i and f see c' and o sees c (Gers, Schraudolph, Schmidhuber 2002); all or
/// none.
template <class T>
struct Peepholes {
  const T *input = nullptr, *forget = nullptr, *output = nullptr;
};
/// i, f, o and g from their sums; c = f c' + i g.
template <class T>
void lstm_memory(Matrix<const T> x, Matrix<T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                 Matrix<T> c);
/// h = o tanh(c).
template <class T>
void lstm_output(Matrix<const T> gates, Matrix<const T> c, Matrix<T> h);
/// Of o; adds to d_c.
template <class T>
void lstm_output_backward(Matrix<const T> gates, Matrix<const T> c, Matrix<const T> d_h, Matrix<T> d_sums,
                          Matrix<T> d_c);
/// Of i, f and g, when that of o is there; d_c becomes that of c'.
template <class T>
void lstm_memory_backward(Matrix<const T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                          Matrix<T> d_c, Matrix<T> d_sums);

}  // namespace heed
