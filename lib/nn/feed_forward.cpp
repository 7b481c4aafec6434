#include "nn/feed_forward.h"

#include "autograd/ops.h"

namespace heed {

template <class T>
void add_feed_forward(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                      std::int64_t d_ff) {
  parameters.add(scope + "/inner/weight", {d, d_ff}, Init::xavier(d, d_ff));
  parameters.add(scope + "/inner/bias", {d_ff}, Init::zeros());
  parameters.add(scope + "/outer/weight", {d_ff, d}, Init::xavier(d_ff, d));
  parameters.add(scope + "/outer/bias", {d}, Init::zeros());
}

template <class T>
Var<T> feed_forward(const Scope<T>& scope, Var<T> x, const Packing& rows, double dropout) {
  Scope<T> inner = scope / "inner", outer = scope / "outer";
  Var<T> hidden = linear(x, inner.parameter("weight"), inner.parameter("bias"), Activation::relu,
                         scope.dropout(dropout));  // [rows, d_ff]
  hidden = scope.name("inner", hidden, rows);
  return scope.name("output", linear(hidden, outer.parameter("weight"), outer.parameter("bias")), rows);
}

#define HEED_INSTANTIATE(T)                                                                         \
  template void add_feed_forward(ParameterSet<T>&, const std::string&, std::int64_t, std::int64_t); \
  template Var<T> feed_forward(const Scope<T>&, Var<T>, const Packing&, double);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
