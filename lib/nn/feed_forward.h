// Position-wise feed-forward network (Vaswani et al. 2017, eq. 2): f(x W_1 + b_1) W_2 + b_2, the same at
// every position, where f is the ReLU in the paper; or gated (Dauphin et al. 2017; Shazeer: GLU variants
// improve Transformer, 2020):
//   (f(x W_g + b_g) * (x W_1 + b_1)) W_2 + b_2.
// Parameters: inner/{weight [d, d_ff], bias}, outer/{weight [d_ff, d], bias}, if gated also gate/{weight [d,
// d_ff], bias}; biases are optional. Named values: inner, the input of outer; output; if gated also gate, f(x
// W_g + b_g).
#pragma once

#include <string>
#include <vector>

#include "autograd/ops.h"
#include "base/choice.h"
#include "nn/scope.h"

namespace heed {

/// The words of the enumerators in kernels.h, in their order, followed by those offered here.
inline const Choice<Activation> kActivations{
    "activation", {"none", "relu", "tanh", "sigmoid", "gelu", "gelu_tanh", "gelu_sigmoid", "silu"}};
inline const std::vector<std::string> kFeedForwardActivations{"relu", "gelu", "gelu_tanh", "gelu_sigmoid",
                                                              "silu"};

/// Linear layers of a gated network's input, which lie side by side.
inline const std::vector<std::string> kGateAndInner{"gate", "inner"};

struct FeedForwardSettings {
  Activation activation = Activation::relu;
  bool gated = false;
  bool bias = true;
  double dropout = 0;  ///< on the input of outer
};

template <class T>
void add_feed_forward(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                      std::int64_t d_ff, const FeedForwardSettings& settings = {}) {
  const std::optional<Init> bias = settings.bias ? std::optional(Init::zeros()) : std::nullopt;
  const Init weight = Init::xavier(d, d_ff);
  if (settings.gated)
    parameters.add_stacked(scope, kGateAndInner, d, d_ff, weight, bias);
  else
    parameters.add_stacked(scope, {"inner"}, d, d_ff, weight, bias);
  parameters.add_stacked(scope, {"outer"}, d_ff, d, Init::xavier(d_ff, d), bias);
}

/// [rows, d] -> [rows, d].
template <class T>
Var<T> feed_forward(const Scope<T>& scope, Var<T> x, const Packing& rows,
                    const FeedForwardSettings& settings) {
  auto bias_of = [&](const char* path) { return settings.bias ? scope.parameter(path) : Var<T>(); };
  const Activation f = settings.activation;
  Var<T> hidden;  // [rows, d_ff]
  if (settings.gated) {
    const Var<T> bias = settings.bias ? scope.stacked(kGateAndInner, "bias") : Var<T>();
    const Var<T> both = linear(x, scope.stacked(kGateAndInner, "weight"), bias);  // [rows, 2 d_ff]
    const std::int64_t d_ff = both.cols() / 2;
    const Var<T> gate = scope.name("gate", activate(f, scope.tape().columns(both, 0, d_ff)), rows);
    hidden =
        drop_out(multiply(gate, scope.tape().columns(both, d_ff, d_ff)), scope.dropout(settings.dropout));
  } else {
    hidden =
        linear(x, scope.parameter("inner/weight"), bias_of("inner/bias"), f, scope.dropout(settings.dropout));
  }
  hidden = scope.name("inner", hidden, rows);
  return scope.name("output", linear(hidden, scope.parameter("outer/weight"), bias_of("outer/bias")), rows);
}

}  // namespace heed
