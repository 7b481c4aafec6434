// Position-wise feed-forward network (Vaswani et al. 2017, eq. 2): max(0, x W_1 + b_1) W_2 + b_2, the same at
// every position. Parameters: inner/{weight [d, d_ff], bias}, outer/{weight [d_ff, d], bias}. Named values:
// inner, output.
#pragma once

#include <string>

#include "autograd/ops.h"
#include "nn/scope.h"

namespace heed {

template <class T>
void add_feed_forward(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                      std::int64_t d_ff) {
  parameters.add(scope + "/inner/weight", {d, d_ff}, Init::xavier(d, d_ff));
  parameters.add(scope + "/inner/bias", {d_ff}, Init::zeros());
  parameters.add(scope + "/outer/weight", {d_ff, d}, Init::xavier(d_ff, d));
  parameters.add(scope + "/outer/bias", {d}, Init::zeros());
}

/// [rows, d] -> [rows, d], with dropout after the ReLU.
template <class T>
Var<T> feed_forward(const Scope<T>& scope, Var<T> x, const Packing& rows, double dropout) {
  Scope<T> inner = scope / "inner", outer = scope / "outer";
  Var<T> hidden = linear(x, inner.parameter("weight"), inner.parameter("bias"), Activation::relu,
                         scope.dropout(dropout));  // [rows, d_ff]
  hidden = scope.name("inner", hidden, rows);
  return scope.name("output", linear(hidden, outer.parameter("weight"), outer.parameter("bias")), rows);
}

}  // namespace heed
