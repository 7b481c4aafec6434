// The product that dot and scaled-dot share.
#pragma once

#include "nn/attention/score_function.h"
#include "tensor/gemm.h"

namespace heed {

/// e = factor q k^T.
template <class T>
void product_forward(T factor, const ScoreBlock<T>& at, Matrix<T> e) {
  gemm<T>(factor, at.q.x, at.k.x.t(), 0, e);
}
template <class T>
void product_backward(T factor, const ScoreBlock<T>& at, Matrix<const T> d_e, const ScoreGradients<T>& to) {
  gemm<T>(factor, d_e, at.k.x, 1, to.q);
  gemm<T>(factor, d_e.t(), at.q.x, 1, to.k);
}

}  // namespace heed
