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

/// a b, elementwise; both may be some columns of a matrix.
template <class T>
Var<T> multiply(Var<T> a, Var<T> b);

/// factor x.
template <class T>
Var<T> scaled(Var<T> x, T factor);

/// f(x), elementwise; x may be some columns of a matrix.
template <class T>
Var<T> activate(Activation f, Var<T> x);

/// dropout(x); x may be some columns of a matrix.
template <class T>
Var<T> drop_out(Var<T> x, const Dropout& drop);

/// dropout(scale * table[ids[i]] + positions[position[i]]): table [V, d] (kNoRow: zeros), positions
/// [max_length, d] or none
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

/// Root mean square normalisation of every run of d columns of x [n, k d] by itself (kernels.h, rms_norm);
/// gamma [1, d]. x may be some columns of a matrix.
template <class T>
Var<T> rms_norm(Var<T> x, Var<T> gamma, T eps);

/// Rotary positions: turns the first columns of every head of row i of x [n, heads * d], as many as turns
/// [positions, up to d] has, by the angles of position[i] (kernels.h, rotate_rows). x may be some columns of a
/// matrix.
template <class T>
Var<T> rotate(Var<T> x, Matrix<const T> turns, std::span<const std::int32_t> position, std::int64_t d);

/// x + dropout(sub), without normalisation.
template <class T>
Var<T> add_dropped(Var<T> x, Var<T> sub, const Dropout& drop);

struct AttentionOptions {
  std::int64_t n_heads = 1;
  std::int64_t n_kv_heads =
      0;                    ///< of keys and values, each for n_heads / n_kv_heads heads in a row; 0: n_heads
  double scale = 1;         ///< of the scores, 1 / sqrt(head_dim) in scaled dot-product attention
  bool causal = false;      ///< query i of a sentence attends to its keys 0 .. i + (n_keys - n_queries)
  std::int64_t window = 0;  ///< a query sees only keys less than this far from it; 0: all (kernels.h)
  Dropout drop;             ///< on the weights
  bool keep_weights = false, keep_scores = false, keep_bias = false;

  std::int64_t key_heads() const { return n_kv_heads > 0 ? n_kv_heads : n_heads; }
};
/// Changes a row of the bias, of scores (scaled, with bias, before the mask) or of weights before anything is
/// computed from it; may be empty.
template <class T>
struct AttentionEdit {
  using Row = std::function<void(std::int64_t query_row, std::int64_t head, std::span<T> row)>;
  Row bias, scores, weights;
};
template <class T>
struct AttentionResult {
  Var<T> context;  ///< [query rows, n_heads * d_v]
  // Each is empty unless kept, else a dense block [n_heads, n_queries, n_keys] for each sentence in turn:
  std::span<const T> weights;  ///< after softmax, before dropout
  std::span<const T> scores;   ///< scaled, with bias, before mask and softmax
  std::span<const T> bias;
};
/// Keys that serve many calls, laid out for them, sentence after sentence; either or none (kernels.h).
template <class T>
struct KeysAhead {
  Var<T> transposed;  ///< transposed_keys
  Var<T> pairs;       ///< pair_keys_and_values
};
/// Dot-product attention of every sentence's queries over its own keys, head by head: q [query rows, n_heads
/// * d_k], k [key rows, n_kv_heads * d_k], v [key rows, n_kv_heads * d_v]. With `edit` there are no gradients.
/// `bias` [2 reach + 1, n_heads] or none: row reach + r is added to the scores of keys whose position is the query's
/// plus r, the last query and the last key of a sentence being at one position.
template <class T>
AttentionResult<T> attention(Var<T> q, Var<T> k, Var<T> v, const Packing& queries, const Packing& keys,
                             const AttentionOptions& options, const AttentionEdit<T>* edit = nullptr,
                             Var<T> bias = {}, const KeysAhead<T>& ahead = {});

/// Lays out the keys k [key rows, d] of every sentence. No gradient.
template <class T>
KeysAhead<T> keys_ahead(Var<T> k, const Packing& keys);
/// Keys and values, all of them bfloat16 numbers, in half the memory; heads of k have even widths.
KeysAhead<float> keys_ahead_in_pairs(Var<float> k, Var<float> v, const Packing& keys);

/// Rounds the numbers of x, which nothing has read yet, to the nearest bfloat16. No gradient.
void round_to_bfloat16(Var<float> x);

/// Causal attention of packed rows q [n, n_heads * d_k] that continue sequences, over their past, which ends
/// with the rows themselves. The arithmetic of a row depends on that row alone. No gradient: decoding only.
template <class T>
Var<T> attention_over_past(Var<T> q, const Packing& rows, const Past<T>& past,
                           const AttentionOptions& options, const AttentionEdit<T>* edit = nullptr,
                           Var<T> bias = {});

/// Cross-entropy of softmax(states W) against targets with label smoothing (kernels.h, cross_entropy_rows):
/// states [n, d], weight [d, V]. The logits exist only a block of rows or classes at a time, so their gradients are
/// taken at once: with gradients on, d states and d weight receive `scale` * d loss, and Tape::backward()
/// continues from there. The weight may be the transposed view of an embedding table (tied): pass the table and
/// `tied`. `nll`, unless null, receives -log p of each row's target. `bias` [1, V] or none is added to the logits.
template <class T>
CrossEntropySums projected_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                         std::span<const std::int32_t> targets, double smoothing, T scale,
                                         std::vector<double>* nll = nullptr, Var<T> bias = {});

/// Likewise for R-Drop (Liang et al. 2021, equations 1-4), without nll: row i and row i + n/2 are two
/// readings of the same words, dropout apart, and their distributions p and q are to agree. The loss is the
/// paper's in full: the sum over both readings, to which each pair adds consistency / 2 * (KL(p||q) +
/// KL(q||p)).
template <class T>
CrossEntropySums consistent_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                          std::span<const std::int32_t> targets, double smoothing,
                                          double consistency, T scale, Var<T> bias = {});

/// Likewise of given logits [n, classes], which receive the gradient.
template <class T>
CrossEntropySums cross_entropy(Var<T> logits, std::span<const std::int32_t> targets, double smoothing,
                               T scale);

/// logits = x W + bias; weight is W [d, V] or, if `tied`, the table W^T [V, d]; x [n, d], bias [1, V] or none ->
/// [n, V]. No gradient: decoding only.
template <class T>
Var<T> logits_of(Var<T> x, Var<T> weight, bool tied, Var<T> bias = {});

}  // namespace heed
