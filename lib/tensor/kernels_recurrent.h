// One step of recurrent cells, a row for each sequence; rules as in tensor/kernels.h.
#pragma once

#include "tensor/matrix.h"

namespace heed {

template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y);  ///< y += a b, elementwise
/// y = (1 - z) a + z b, elementwise; the mirror image adds to d_z, d_a and d_b.
template <class T>
void interpolate(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<T> y);
template <class T>
void interpolate_backward(Matrix<const T> z, Matrix<const T> a, Matrix<const T> b, Matrix<const T> d_y,
                          Matrix<T> d_z, Matrix<T> d_a, Matrix<T> d_b);
/// LSTM (Hochreiter, Schmidhuber 1997; forget gate of Gers et al. 2000): sums [n, 4 h] of the gates i, f, o
/// and the candidate g, side by side, become gates [n, 4 h] = (s(i), s(f), s(o), tanh(g)) and state [n, 2 h]
/// = (o tanh(c), c) with c = f c_prev + i g.
template <class T>
void lstm_forward(Matrix<const T> sums, Matrix<const T> c_prev, Matrix<T> gates, Matrix<T> state);
/// Adds to d_sums and d_c_prev.
template <class T>
void lstm_backward(Matrix<const T> gates, Matrix<const T> c_prev, Matrix<const T> state,
                   Matrix<const T> d_state, Matrix<T> d_sums, Matrix<T> d_c_prev);

}  // namespace heed
