// One step of recurrent cells, one row per sequence; the equations are in nn/recurrent.h, the conventions in
// tensor/kernels.h. h is the width of a state, h' the previous state. gates [n, gates h] holds the products
// U h' on entry, side by side as in the parameters, and the gates' activations on return; x [n, gates h] is
// added to the products. The backward functions replace the gradient of the new state by the direct part of
// that of the previous state, in place, and overwrite d_sums [n, gates h] with the gradient of x + U h'.
#pragma once

#include "tensor/matrix.h"

namespace heed {

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y);  ///< y += a b, elementwise

/// h = tanh(x + U h'). h' gets its gradient through U only.
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
/// d_products [n, 3 h] differs from d_sums in the candidate, where r is a factor between them.
template <class T>
void gru_after_backward(Matrix<const T> gates, Matrix<const T> inner, Matrix<const T> h_prev, Matrix<T> d_h,
                        Matrix<T> d_sums, Matrix<T> d_products);

/// Peephole weights [h] of an LSTM: from c' to i and f, from c to o (Gers, Schraudolph, Schmidhuber 2002);
/// all or none.
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
/// Of i, f and g, given that of o; d_c becomes that of c'.
template <class T>
void lstm_memory_backward(Matrix<const T> gates, const Peepholes<T>& peepholes, Matrix<const T> c_prev,
                          Matrix<T> d_c, Matrix<T> d_sums);

}  // namespace heed
