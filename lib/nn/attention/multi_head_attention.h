// Multi-head attention (Vaswani et al. 2017, section 3.2.2):
//   head_i = softmax(Q W_q^i (X' W_k^j)^T / sqrt(d_head)) X' W_v^j
//   output = Concat(head_1 .. head_h) W_o
// where j = i, or with fewer key-value heads j = floor(i / (n_heads / n_kv_heads)) (grouped-query attention:
// Ainslie et al. 2023). Parameters under the scope: query, key, value, output, each with weight and
// optionally bias; query [d, n_heads d_head], key and value [d, n_kv_heads d_head], output [n_heads d_head,
// d]; head i owns columns i*d_head .. (i+1)*d_head - 1. With qk_norm also query_norm/gamma and key_norm/gamma:
// queries and keys are divided by their root mean square, head by head, gamma [d_head] (Qwen3, Gemma 3), or all
// heads of a row together, gamma [n_heads d_head] and [n_kv_heads d_head] (OLMo 2). Named values: the
// projections query, key, value; then, if enabled, normed_query, normed_key and rotated_query, rotated_key
// (the last of these are compared); position_bias, scores, weights, context (heads side by side), output.
#pragma once

#include <optional>
#include <string>

#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "nn/scope.h"
#include "tensor/key_value_cache.h"

namespace heed {

/// Which projections have a bias: all, those of query, key and value, or that of the output.
enum class AttentionBias { all, qkv, none, output };
inline const Choice<AttentionBias> kAttentionBiases{"attention_bias", {"all", "qkv", "none", "output"}};

struct HeadConfig {
  std::int64_t n_heads = 1;
  double dropout = 0;                     ///< on the attention weights
  std::int64_t n_kv_heads = 0;            ///< divides n_heads; 0: n_heads
  std::int64_t d_head = 0;                ///< 0: d_model / n_heads
  std::optional<NormSettings> qk_norm{};  ///< of queries and keys: rms or rms_plus_one
  bool qk_norm_by_head = true;            ///< else of all heads together
  bool scaled = true;                     ///< scores are divided by sqrt(score_width)
  std::int64_t score_width = 0;           ///< 0: d_head
  AttentionBias bias = AttentionBias::all;
  std::int64_t window = 0;  ///< self-attention sees only keys less than this far from a query; 0: all

  bool biased_inputs() const { return bias == AttentionBias::all || bias == AttentionBias::qkv; }
  bool biased_output() const { return bias == AttentionBias::all || bias == AttentionBias::output; }
  std::int64_t key_heads() const { return n_kv_heads > 0 ? n_kv_heads : n_heads; }
  std::int64_t head_width(std::int64_t d_model) const { return d_head > 0 ? d_head : d_model / n_heads; }
};

/// Declares the parameters of one attention. Self-attention stores query, key and value side by side,
/// cross-attention key and value, so that each input takes one product.
template <class T>
void add_self_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d_model,
                        const HeadConfig& config);
template <class T>
void add_cross_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d_model,
                         const HeadConfig& config);

/// Self-attention of x: [rows, d] -> [rows, d]. `rows` must outlive the pass. With a `past`, x attends to the
/// keys and values kept there as well, and its own are appended (causal, without gradients).
template <class T>
Var<T> self_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, bool causal,
                      const HeadConfig& config, const AttentionPositions<T>& positions = {},
                      const Past<T>& past = {});

/// Computed once from the memory for all queries of a cross-attention: [memory rows, n_kv_heads d_head] each,
/// and without gradients laid out for them.
template <class T>
struct KeysAndValues {
  Var<T> key, value;
  KeysAhead<T> ahead;
};
/// If the packed weights are bfloat16 or int8, keys and values are rounded to bfloat16, unless gradients are taken,
/// qk_norm is set, or the head width is odd.
template <class T>
KeysAndValues<T> memory_keys(const Scope<T>& scope, Var<T> memory, const Packing& rows,
                             const HeadConfig& config);

/// Cross-attention of x [rows, d] to the memory -> [rows, d]. `groups`: the same rows, grouped by sentence of
/// the memory. All packings must outlive the pass.
template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, const Packing& groups,
                       const KeysAndValues<T>& memory, const Packing& memory_rows, const HeadConfig& config);

}  // namespace heed
