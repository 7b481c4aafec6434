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

/// state [n, 2 h] = (h, c).
template <class T>
void lstm_forward(Matrix<const T> x, Matrix<T> gates, Matrix<const T> c_prev, Matrix<T> state);
/// Leaves d_h of d_state [n, 2 h] alone: h' has a gradient by U only.
template <class T>
void lstm_backward(Matrix<const T> gates, Matrix<const T> c_prev, Matrix<const T> state, Matrix<T> d_state,
                   Matrix<T> d_sums);

}  // namespace heed
