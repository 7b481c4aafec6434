// Multi-head attention (Vaswani et al. 2017, section 3.2.2):
//   head_i = softmax(Q W_q^i (X' W_k^i)^T / sqrt(head_dim)) X' W_v^i,   output = Concat(head_1 .. head_h)
//   W_o.
// Parameters under the scope: query, key, value, output, each with weight [d, d] and bias [d]; head i owns
// columns i*head_dim .. (i+1)*head_dim - 1 of query, key and value. Named values: query, key, value, scores,
// weights, context (heads side by side), output.
#pragma once

#include <string>

#include "nn/scope.h"

namespace heed {

/// Adds the parameters of one attention. Self-attention lays query, key and value side by side,
/// cross-attention key and value, so that each input takes one product.
template <class T>
void add_self_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d_model);
template <class T>
void add_cross_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d_model);

struct HeadConfig {
  std::int64_t n_heads = 1;
  double dropout = 0;  ///< on the attention weights
};

/// x attends to itself: [rows, d] -> [rows, d]. `rows` must outlive the pass.
template <class T>
Var<T> self_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, bool causal,
                      const HeadConfig& config);

/// x attends to `memory`: [target rows, d], [source rows, d] -> [target rows, d].
template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, Var<T> memory,
                       const Packing& memory_rows, const HeadConfig& config);

}  // namespace heed
