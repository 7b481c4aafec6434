// Position-wise feed-forward network (Vaswani et al. 2017, eq. 2): max(0, x W_1 + b_1) W_2 + b_2, the same at
// every position. Parameters: inner/{weight [d, d_ff], bias}, outer/{weight [d_ff, d], bias}. Named values:
// inner, output.
#pragma once

#include <string>

#include "nn/scope.h"

namespace heed {

template <class T>
void add_feed_forward(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d_model,
                      std::int64_t d_ff);

/// [rows, d] -> [rows, d], with dropout after the ReLU.
template <class T>
Var<T> feed_forward(const Scope<T>& scope, Var<T> x, const Packing& rows, double dropout);

}  // namespace heed
