// Multi-head attention (Vaswani et al. 2017, section 3.2.2):
//   head_i = softmax(Q W_q^i (X' W_k^i)^T / sqrt(head_dim)) X' W_v^i
//   output = Concat(head_1 .. head_h) W_o
// Parameters under the scope: query, key, value, output, each with weight [d, d] and bias [d]; head i owns
// columns i*head_dim .. (i+1)*head_dim - 1 of query, key and value. Named values: query, key, value, scores,
// weights, context (heads side by side), output.
#pragma once

#include <string>

#include "nn/positional_encoding.h"
#include "nn/scope.h"
#include "tensor/key_value_cache.h"

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
  Positions positions = Positions::none;
};

/// x attends to itself: [rows, d] -> [rows, d]. `rows` must outlive the pass. With a `past`, x continues
/// from the keys and values kept there, and its own are appended (causal, without gradients).
template <class T>
Var<T> self_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, bool causal,
                      const HeadConfig& config, const Past<T>& past = {});

/// What a cross-attention makes of the memory, the same for all queries: [memory rows, d] each, and without gradients
/// the keys transposed.
template <class T>
struct KeysAndValues {
  Var<T> key, value, key_transposed;
};
template <class T>
KeysAndValues<T> memory_keys(const Scope<T>& scope, Var<T> memory, const Packing& rows,
                             const HeadConfig& config);

/// x [rows, d] attends to the memory -> [rows, d]. `groups`: the same rows, a group for each sentence of the
/// memory. All packings must outlive the pass.
template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, const Packing& groups,
                       const KeysAndValues<T>& memory, const Packing& memory_rows, const HeadConfig& config);

}  // namespace heed
