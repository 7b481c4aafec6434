// The differentiable operations. Each states its shape rule (rows are packed tokens), computes its value
// and, on a tape with gradients, records its backward function. Spans and packings handed in must outlive
// the tape's pass.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "autograd/tape.h"
#include "tensor/kernels.h"
#include "tensor/key_value_cache.h"
#include "tensor/packing.h"
#include "tensor/philox.h"

namespace heed {

/// dropout(f(x W + b)): x [n, d_in], W [d_in, d_out], b [1, d_out] or none -> [n, d_out].
template <class T>
Var<T> linear(Var<T> x, Var<T> weight, Var<T> bias, Activation f = Activation::none,
              const Dropout& drop = {});

/// a + b, same shape.
template <class T>
Var<T> add(Var<T> a, Var<T> b);

/// f(x), elementwise.
template <class T>
Var<T> activate(Activation f, Var<T> x);

/// dropout(x); x may be some columns of a matrix.
template <class T>
Var<T> drop_out(Var<T> x, const Dropout& drop);

/// dropout(scale * table[ids[i]] + positions[position[i]]): table [V, d], positions [max_length, d] or none
/// -> [n, d].
template <class T>
Var<T> embedding(Var<T> table, std::span<const std::int32_t> ids, T scale, Var<T> positions,
                 std::span<const std::int32_t> position, const Dropout& drop = {});

/// The residual connection and the layer normalisation after it.
template <class T>
struct SumAndNorm {
  Var<T>
      sum;  ///< x + dropout(sub) [n, d], to be observed: no gradient flows into it; x itself when sub is none
  Var<T> output;  ///< LayerNorm(sum) [n, d]
};
template <class T>
SumAndNorm<T> add_layer_norm(Var<T> x, Var<T> sub, const Dropout& drop, Var<T> gamma, Var<T> beta, T eps);

/// x + dropout(sub), without normalisation.
template <class T>
Var<T> add_dropped(Var<T> x, Var<T> sub, const Dropout& drop);

struct AttentionOptions {
  std::int64_t n_heads = 1;
  double scale = 1;     ///< of the scores, 1 / sqrt(head_dim) in scaled dot-product attention
  bool causal = false;  ///< query i of a sentence attends to its keys 0 .. i + (n_keys - n_queries)
  Dropout drop;         ///< on the weights
  bool keep_scores = false;
};
/// Blocks lie sentence by sentence: [n_heads, n_queries, n_keys] each, dense.
/// Changes a row of scores (scaled, before the mask) or weights before anything is computed from it; may be
/// empty.
template <class T>
struct AttentionEdit {
  using Row = std::function<void(std::int64_t query_row, std::int64_t head, std::span<T> row)>;
  Row scores, weights;
};
template <class T>
struct AttentionResult {
  Var<T> context;              ///< [query rows, n_heads * d_v]
  std::span<const T> weights;  ///< after softmax, before dropout
  std::span<const T> scores;   ///< scaled, before mask and softmax; empty unless kept
};
/// Dot-product attention of every sentence's queries over its own keys, head by head: q [query rows, n_heads
/// * d_k], k [key rows, n_heads * d_k], v [key rows, n_heads * d_v]. With `edit` there are no gradients. `k_transposed`:
/// transposed_keys of k, where the same keys serve many calls; or none.
template <class T>
AttentionResult<T> attention(Var<T> q, Var<T> k, Var<T> v, const Packing& queries, const Packing& keys,
                             const AttentionOptions& options, const AttentionEdit<T>* edit = nullptr,
                             Var<T> k_transposed = {});

/// The keys k [key rows, d] of every sentence transposed, sentence after sentence, each dense [d, transposed_width] (kernels.h).
/// No gradient.
template <class T>
Var<T> transposed_keys(Var<T> k, const Packing& keys);

/// Causal attention of packed rows q [n, n_heads * d_k] that continue sequences, over their past, which ends
/// with the rows themselves. The arithmetic of a row depends on that row alone. No gradient: decoding only.
template <class T>
Var<T> attention_over_past(Var<T> q, const Packing& rows, const Past<T>& past,
                           const AttentionOptions& options, const AttentionEdit<T>* edit = nullptr);

/// Cross-entropy of softmax(states W) against targets with label smoothing (kernels.h, cross_entropy_rows):
/// states [n, d], weight [d, V]. The logits exist only a block of rows at a time, so their gradients are
/// taken at once: with gradients on, d states and d weight receive `scale` * d loss, and Tape::backward()
/// continues from there. The weight may be the transposed view of an embedding table (tied): pass the table and
/// `tied`. `nll`, unless null, receives -log p of each row's target.
template <class T>
CrossEntropySums projected_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                         std::span<const std::int32_t> targets, double smoothing, T scale,
                                         std::vector<double>* nll = nullptr);

/// Likewise of given logits [n, classes], which receive the gradient.
template <class T>
CrossEntropySums cross_entropy(Var<T> logits, std::span<const std::int32_t> targets, double smoothing,
                               T scale);

/// logits = x table^T: x [n, d], table [V, d] -> [n, V]. No gradient: decoding only.
template <class T>
Var<T> logits_of(Var<T> x, Var<T> weight, bool tied);

}  // namespace heed
