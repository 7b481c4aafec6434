// Recurrent layers on top of each other: layer l reads the states h of layer l - 1. Dropout acts between
// layers, not along time (Zaremba, Sutskever, Vinyals: Recurrent neural network regularization,
// 2014). Parameters: <scope>/layer_<l>/state, a recurrent layer (nn/recurrent.h). Named values:
// layer_<l>/output, its h after dropout.
#pragma once

#include <vector>

#include "nn/recurrent.h"

namespace heed {

/// h of the top layer [rows, d_hidden], and each layer's states after the last step [sentences, state
/// width].
template <class T>
struct StackOutput {
  Var<T> h;
  std::vector<Var<T>> last;
};

/// Layers `from` .. `to`-1 over whole packed sentences: x [rows, d_in]. `first`: the states
/// before the first step of each of these layers; empty: zeros.
template <class T>
StackOutput<T> recurrent_stack(const Scope<T>& scope, const RecurrentSizes& sizes, std::int64_t from,
                               std::int64_t to, Var<T> x, const Packing& rows, Direction direction,
                               double dropout, const std::vector<Var<T>>& first = {});

}  // namespace heed
