// The deep output layer of Cho et al. 2014 and Bahdanau et al. 2015, appendix A.2.2: t~ = U_o s + b + V_o e +
// C_o c and t its maxima in pairs. Parameters: {state/weight U_o [n, 2 l], state/bias, embedding/weight V_o
// [m, 2 l], context/weight C_o [d_c, 2 l]}.
#pragma once

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "nn/scope.h"

namespace heed {

/// C_o c: c [n, d_c] -> [n, 2 l].
template <class T>
Var<T> readout_context(const Scope<T>& scope, Var<T> c) {
  return linear(c, scope.parameter("context/weight"), Var<T>());
}

/// t, with dropout: s [n, d], e [n, m], and what readout_context gave -> [n, l].
template <class T>
Var<T> maxout_readout(const Scope<T>& scope, Var<T> s, Var<T> embedded, Var<T> context, double dropout) {
  Var<T> t = add(add(linear(s, scope.parameter("state/weight"), scope.parameter("state/bias")),
                     linear(embedded, scope.parameter("embedding/weight"), Var<T>())),
                 context);  // [n, 2 l]
  return drop_out(maxout(t), scope.dropout(dropout));
}

}  // namespace heed
