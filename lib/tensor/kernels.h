// The loops around the matrix products: SIMD (Highway) with run-time dispatch, for float and double.
// All run on the calling thread. "accumulate" kernels add to their output; the others overwrite it. Matrices
// must have col_stride 1 unless stated otherwise. Reductions have a fixed order: equal calls give equal bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tensor/matrix.h"
#include "tensor/philox.h"

namespace heed {

/// gelu is x Phi(x), with Phi the standard normal distribution (Hendrycks, Gimpel 2016); gelu_tanh and
/// gelu_sigmoid are its approximations by tanh(sqrt(2 / pi) (x + 0.044715 x^3)) and by x sigmoid(1.702 x);
/// silu is x sigmoid(x).
enum class Activation : std::uint8_t { none, relu, tanh, sigmoid, gelu, gelu_tanh, gelu_sigmoid, silu };
/// Whether f'(x) follows from f(x): those that can be undone in place. The backward pass of the others
/// needs x.
constexpr bool slope_follows_from_value(Activation f) {
  return f <= Activation::sigmoid;
}

// ---- elementwise -----------------------------------------------------------------------------------------
template <class T>
void fill(std::span<T> x, T value);
template <class T>
void add_to(std::span<const T> x, std::span<T> y);  ///< y += x
/// y += x, row by row: both may be slices.
template <class T>
void add_rows(Matrix<const T> x, Matrix<T> y) {
  for (std::int64_t i = 0; i < x.rows; ++i) add_to<T>(row_span(x, i), row_span(y, i));
}
template <class T>
void multiply_add(Matrix<const T> a, Matrix<const T> b, Matrix<T> y);  ///< y += a b, elementwise
template <class T>
void scale_by(T factor, std::span<T> x);  ///< x *= factor
/// y = x rounded as to_bfloat16 does.
void round_to_bfloat16(std::span<const float> x, std::span<float> y);
template <class T>
void apply(Activation f, std::span<const T> x, std::span<T> y);  ///< y = f(x), may alias
/// d_x = (accumulate ? d_x : 0) + d_y f'(x), with f' computed from y = f(x), from which it must follow.
template <class T>
void apply_backward(Activation f, std::span<const T> y, std::span<const T> d_y, std::span<T> d_x,
                    bool accumulate);
/// d_x += d_y f'(x), with f' computed from x, of an f whose slope does not follow from its value.
template <class T>
void apply_backward_at(Activation f, std::span<const T> x, std::span<const T> d_y, std::span<T> d_x);
/// y = x with dropout (may alias). The backward pass is the same call on the gradient.
template <class T>
void dropout(const Dropout& drop, std::span<const T> x, std::span<T> y);
/// y += x with dropout.
template <class T>
void dropout_add(const Dropout& drop, std::span<const T> x, std::span<T> y);

// ---- products --------------------------------------------------------------------------------------------
/// c = a b, or c += a b: what gemm computes, but the bits of a row of c depend on that row of a alone, not
/// on how many rows there are. a may have any strides.
template <class T>
void multiply_rows(Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c);
/// c = alpha a b, or c += alpha a b, for gemm where its table of processors says so. a and b may have any
/// strides.
template <class T>
void multiply_blocks(T alpha, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c);

// ---- rows of a matrix ------------------------------------------------------------------------------------
template <class T>
void broadcast_row(std::span<const T> row, Matrix<T> y);  ///< every row of y = row
template <class T>
void sum_rows(Matrix<const T> x, std::span<T> accumulated);  ///< accumulated[j] += sum_i x(i, j)
/// y = dropout(f(y + bias)) in place, the epilogue of a linear layer, of an f whose slope follows from its
/// value. bias may be empty. y must be dense if drop is active.
template <class T>
void bias_activation_dropout(std::span<const T> bias, Activation f, const Dropout& drop, Matrix<T> y);
/// Backward pass: d_z from d_y, through dropout and f', given the output y. d_z may alias d_y. All dense.
template <class T>
void bias_activation_dropout_backward(Activation f, const Dropout& drop, Matrix<const T> y,
                                      Matrix<const T> d_y, Matrix<T> d_z);

/// Layer normalisation (Ba et al. 2016; biased variance, eps inside the root) of s = x + dropout(sub):
///   y = gamma (s - mean(s)) / sqrt(var(s) + eps) + beta.   x, sub, s, y [n, d] dense; mean, rstd [n].
/// sub may have data == nullptr (then s = x and nothing is written to s unless s.data differs from x.data).
template <class T>
void add_layer_norm(Matrix<const T> x, Matrix<const T> sub, const Dropout& drop, std::span<const T> gamma,
                    std::span<const T> beta, T eps, Matrix<T> s, Matrix<T> y, std::span<T> mean,
                    std::span<T> rstd);
/// d_s [n, d] (overwritten) from d_y; d_gamma and d_beta [d] are added to. d_s may alias d_y.
template <class T>
void layer_norm_backward(Matrix<const T> s, std::span<const T> mean, std::span<const T> rstd,
                         std::span<const T> gamma, Matrix<const T> d_y, Matrix<T> d_s, std::span<T> d_gamma,
                         std::span<T> d_beta);

/// Root mean square normalisation (Zhang, Sennrich 2019, eq. 4; eps inside the root) of every run of d
/// columns of x by itself, d the width of gamma: one run when x is d wide, a head each when heads lie side
/// by side.
///   y = gamma x / sqrt(mean(x^2) + eps).   x, y [n, k d], any row_stride; rstd [n k].
template <class T>
void rms_norm(Matrix<const T> x, std::span<const T> gamma, T eps, Matrix<T> y, std::span<T> rstd);
/// Adds to d_x [n, k d] and d_gamma [d].
template <class T>
void rms_norm_backward(Matrix<const T> x, std::span<const T> rstd, std::span<const T> gamma,
                       Matrix<const T> d_y, Matrix<T> d_x, std::span<T> d_gamma);

/// Rotary positions (Su et al. 2021, eq. 34), pairs half a head apart: with c and s the cosines and sines of
/// position[i], h of each, every run of d >= 2 h columns of row i becomes, for j < h,
///   y[j] = x[j] c[j] - x[j + h] s[j],   y[j + h] = x[j + h] c[j] + x[j] s[j],
/// and y[j] = x[j] for j >= 2 h. turns [positions, 2 h]: a position's cosines, then its sines. x, y
/// [n, k d], any row_stride.
template <class T>
void rotate_rows(Matrix<const T> x, Matrix<const T> turns, std::span<const std::int32_t> position,
                 std::int64_t d, Matrix<T> y);
/// d_x += d_y turned back.
template <class T>
void rotate_rows_backward(Matrix<const T> d_y, Matrix<const T> turns, std::span<const std::int32_t> position,
                          std::int64_t d, Matrix<T> d_x);

/// In-place softmax of each row (max subtracted). Entries of -infinity get exactly 0; a row of only
/// -infinity becomes zeros.
template <class T>
void softmax_rows(Matrix<T> x);
/// log of the sum of exp, per row.
template <class T>
void log_sum_exp_rows(Matrix<const T> x, std::span<T> result);

/// Label-smoothed cross-entropy (Szegedy et al. 2016, eq. 6 with uniform prior): the target distribution
/// is (1 - smoothing) at the target and smoothing / V on all V classes. Adds the loss and plain negative
/// log-likelihood of all rows to sums; when `gradient`, overwrites logits [n, V] by `scale` times d loss
/// / d logits.
struct CrossEntropySums {
  double loss = 0;           ///< smoothed loss, natural logarithm
  double nll = 0;            ///< -log p(target)
  std::int64_t correct = 0;  ///< rows whose largest logit (ties: lowest index) is the target
};
template <class T>
void cross_entropy_rows(Matrix<T> logits, std::span<const std::int32_t> targets, double smoothing, T scale,
                        bool gradient, CrossEntropySums& sums);

/// The sum over rows of KL(p||q) + KL(q||p), p and q being the softmax of a row of logits x and of the same
/// row of y, all [n, V]. Unless they are empty, d_x and d_y [n, V] become `scale` times its derivatives.
template <class T>
double divergence_rows(Matrix<const T> x, Matrix<const T> y, T scale, Matrix<T> d_x, Matrix<T> d_y);

/// Per row, the k largest values (ties: lower column first) as log-probabilities x - logsumexp(x); indices
/// and values [rows, k].
template <class T>
void log_softmax_top_k(Matrix<const T> x, std::int64_t k, Matrix<T> values, Matrix<std::int32_t> indices);

// ---- attention of one sentence and one head --------------------------------------------------------------
/// context = dropout(softmax(scale q k^T + mask)) v.   q [n, d_k], k [m, d_k], v [m, d_v]; col_stride 1, any
/// row_stride. Scaled dot-product attention: Vaswani et al. 2017, eq. 1.
template <class T>
struct AttentionHead {
  Matrix<const T> q, k, v;
  T scale = 1;
  bool causal = false;      ///< query i sees keys 0..i + (m - n)
  std::int64_t window = 0;  ///< query i sees only keys less than this far from key i + (m - n); 0: all
  /// Added to the scaled scores: to those of query i the m numbers from bias + i * bias_step on. A step of
  /// -1 makes it a function of the key's position minus the query's. Null: none.
  const T* bias = nullptr;
  std::int64_t bias_step = 0;
  const std::uint8_t* mask = nullptr;  ///< [n, m], 1 = attend; null: all
  /// k as transposed_keys lays it out, where many calls share the keys; null: each call transposes them.
  const T* k_transposed = nullptr;
  Dropout drop;  ///< element i*m + j of this head's weights; give each head its own stream
};
/// Modifies row `query` of the scaled scores (with bias, before the mask) or of the weights before they are
/// used, and before they are returned; may be empty.
template <class T>
struct RowEdit {
  std::function<void(std::int64_t query, std::span<T> row)> scores, weights;
};
/// Whether attend_backward wants the weights of a head with n queries and m keys. For larger heads it
/// recomputes them, a block of queries at a time, as attend_forward does, so that memory grows with n + m
/// (the idea of Dao et al. 2022, FlashAttention, with whole rows: every softmax sees all its scores at once).
bool attention_keeps_weights(std::int64_t n, std::int64_t m);
/// weights [n, m] dense: after softmax, before dropout. scores [n, m]: scaled scores with bias, before mask
/// and softmax. Either is written when not null.
template <class T>
void attend_forward(const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context,
                    const RowEdit<T>* edit = nullptr);
/// Adds to d_q, d_k, d_v and, unless null, to d_bias, which is laid out as head.bias. `weights` is read
/// only where attention_keeps_weights.
template <class T>
void attend_backward(const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, T* d_bias = nullptr);
/// Width of the rows of transposed_keys.
inline std::int64_t transposed_width(std::int64_t m) {
  return (m + 15) / 16 * 16;
}
/// y [d, transposed_width(m)] = k^T with zeros after each row; k [m, d].
template <class T>
void transposed_keys(Matrix<const T> k, T* y);
/// The heads of a query, and their widths.
struct QueryHeads {
  std::int64_t n_heads, n_kv_heads, d_k, d_v;
};
/// All heads of one of n queries, each as attend_forward computes it, to the bit where
/// attention_keeps_weights(n, m). q [n_heads * d_k], keys as transposed_keys has them, values
/// [m, n_kv_heads * d_v]; context [n_heads * d_v].
template <class T>
void attend_query(const T* q, const QueryHeads& heads, const T* keys_transposed, Matrix<const T> values,
                  T scale, T* context);
/// Numbers of pair_keys_and_values.
inline std::int64_t paired_size(std::int64_t m, std::int64_t k_cols, std::int64_t v_cols) {
  return k_cols / 2 * transposed_width(m) + (m + 1) / 2 * v_cols;
}
/// Keys k [m, d] and values v [m, ..], all of them bfloat16 numbers, in half the memory: two rows of k^T, as
/// transposed_keys has it, and two of v are one row here, the first in the lower halves of its 32 bits. d
/// is even.
void pair_keys_and_values(Matrix<const float> k, Matrix<const float> v, float* pairs);
/// attend_query, to the bit, over m such keys and values.
void attend_pairs(const float* q, const QueryHeads& heads, std::int64_t m, const float* pairs, float scale,
                  float* context);
/// All heads of one query against some rows of a decoder's cache: of keys [.., n_kv_heads * d_k] and values
/// [.., n_kv_heads * d_v] those that `rows` lists, but for the first `hidden`, which get no weight. weights
/// [n_heads, m] may be null; unless null, the m numbers from bias + head * bias_step on are added to the
/// scores. `edit` gets the head in place of the query.
template <class T>
void attend_cached(const T* q, Matrix<const T> keys, Matrix<const T> values,
                   std::span<const std::int32_t> rows, std::int64_t n_heads, std::int64_t n_kv_heads, T scale,
                   T* weights, T* context, const RowEdit<T>* edit = nullptr, const T* bias = nullptr,
                   std::int64_t bias_step = 0, std::int64_t hidden = 0);

// ---- attention of one query: scores that are not matrix products, weighted sums -------------------------
/// Queries or keys, with what a score computes of each row once, ahead of all comparisons.
template <class T>
struct ScoreSide {
  Matrix<const T> x;         ///< [rows, w]
  Matrix<const T> prepared;  ///< [rows, ...], of the additive score additive_factors; no data: nothing

  ScoreSide row_range(std::int64_t first, std::int64_t count) const {
    return {x.row_range(first, count), prepared.row_range(first, count)};
  }
};

/// factors = exp(2 x), row by row. Rows with an element beyond +-20, or NaN, are marked instead: their scores
/// are computed with tanh.
template <class T>
void additive_factors(Matrix<const T> x, Matrix<T> factors);

/// e_ij = v^T tanh(q_i + k_j), the additive score (Bahdanau et al. 2015, appendix A.1.2); e [n, m], v [a].
/// Uses tanh(q + k) = (Q K - 1) / (Q K + 1) with Q = exp(2 q) and K = exp(2 k), hence n + m instead of n m
/// exponentials. The absolute error of each tanh is a few units in the last place of 1. A score depends only
/// on its own query and key, so any partition of the rows gives the same bits.
template <class T>
void additive_scores(const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v, Matrix<T> e);
/// With t_ij = tanh(q_i + k_j) as above: d_v += sum_ij d_e_ij t_ij; d_e_ij v (1 - t_ij^2) is added to row i
/// of d_q and to row j of d_k, which must not share memory. One pass over the keys for each query.
template <class T>
void additive_scores_backward(const ScoreSide<T>& q, const ScoreSide<T>& k, std::span<const T> v,
                              Matrix<const T> d_e, Matrix<T> d_q, Matrix<T> d_k, std::span<T> d_v);
/// Of c = sum_j alpha_j m_j, m [.., d] and c [d]: d_alpha_j += d_c . m_j, d_m_j += alpha_j d_c, in one pass
/// over the rows.
template <class T>
void weighted_sum_backward(std::span<const T> alpha, Matrix<const T> m, std::span<const T> d_c,
                           std::span<T> d_alpha, Matrix<T> d_m);

// ---- embeddings ------------------------------------------------------------------------------------------
/// Instead of an id: no row, zeros. Not the -1 of an absent special piece, which is an error where a row is
/// wanted.
inline constexpr std::int32_t kNoRow = INT32_MIN;
/// y[i] = scale * table[ids[i]] + positions[position[i]]; positions may be empty (data == nullptr).
template <class T>
void gather_rows(Matrix<const T> table, std::span<const std::int32_t> ids, T scale, Matrix<const T> positions,
                 std::span<const std::int32_t> position, Matrix<T> y);
/// d_table[ids[i]] += scale * d_y[i], in order of i; not for kNoRow.
template <class T>
void scatter_add_rows(std::span<const std::int32_t> ids, T scale, Matrix<const T> d_y, Matrix<T> d_table);

// ---- optimisation over flat buffers ----------------------------------------------------------------------
/// Adam (Kingma, Ba 2015, algorithm 1), one pass: p -= step_size * m / (sqrt(v * v_scale) + eps), the bias
/// corrections being part of step_size and v_scale.
struct AdamStep {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double step_size = 0;       ///< learning rate / (1 - beta1^t)
  double v_scale = 1;         ///< 1 / (1 - beta2^t)
  double gradient_scale = 1;  ///< multiplies the gradient first (clipping)
  double weight_decay = 0;    ///< decoupled: p -= weight_decay * learning_rate * p (already multiplied)
};
template <class T>
void adam_update(const AdamStep& step, std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v);
/// Adadelta (Zeiler 2012, algorithm 1): v = rho v + (1 - rho) g^2, d = sqrt((u + eps) / (v + eps)) g,
/// u = rho u + (1 - rho) d^2, p -= rate d; `squares` is v, `moves` is u.
struct AdadeltaStep {
  double rho = 0.95, eps = 1e-6;
  double rate = 1;
  double gradient_scale = 1;  ///< multiplies the gradient first (clipping)
};
template <class T>
void adadelta_update(const AdadeltaStep& step, std::span<T> p, std::span<const T> g, std::span<T> moves,
                     std::span<T> squares);
/// Sum of squares in double, blocks of 4096 elements summed in order.
template <class T>
double squared_norm(std::span<const T> x);
/// False when any element is NaN or infinite.
template <class T>
bool all_finite(std::span<const T> x);

}  // namespace heed
