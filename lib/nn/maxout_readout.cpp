#include "nn/maxout_readout.h"

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"

namespace heed {

template <class T>
Var<T> readout_context(const Scope<T>& scope, Var<T> c) {
  return linear(c, scope.parameter("context/weight"), Var<T>());
}

template <class T>
Var<T> maxout_readout(const Scope<T>& scope, Var<T> s, Var<T> embedded, Var<T> context, double dropout) {
  Var<T> t = add(add(linear(s, scope.parameter("state/weight"), scope.parameter("state/bias")),
                     linear(embedded, scope.parameter("embedding/weight"), Var<T>())),
                 context);  // [n, 2 l]
  return drop_out(maxout(t), scope.dropout(dropout));
}

#define HEED_INSTANTIATE(T)                                 \
  template Var<T> readout_context(const Scope<T>&, Var<T>); \
  template Var<T> maxout_readout(const Scope<T>&, Var<T>, Var<T>, Var<T>, double);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
