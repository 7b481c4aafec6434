// Attention of one sentence and one head. Scaled dot-product attention: Vaswani et al. 2017, eq. 1.
// Short sentences (most are) run on small register-blocked products; long ones on gemm.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_attention.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_product.h"
#include "tensor/simd_softmax.h"

#include <vector>

#include "tensor/causal_mask.h"
#include "tensor/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Scratch memory of one call: arrays aligned to cache lines, in memory that the thread keeps.
template <class T>
class Scratch {
 public:
  explicit Scratch(Index elements) {
    const std::size_t lines = elements / kLine + 8;  // each matrix is rounded up to whole lines
    if (memory().size() < lines) memory().resize(lines);
  }
  /// [rows, cols], rows padded to whole vectors.
  Matrix<T> matrix(Index rows, Index cols) {
    const Index stride = padded(cols);
    Matrix<T> view(memory().data()->elements + used_, rows, cols, stride);
    used_ += (rows * stride + kLine - 1) / kLine * kLine;
    return view;
  }
  static Index padded(Index cols) { return (cols + kLanes<T> - 1) / kLanes<T> * kLanes<T>; }

 private:
  static constexpr Index kLine = 64 / sizeof(T);
  struct alignas(64) Line {
    T elements[kLine];
  };
  static std::vector<Line>& memory() {
    static thread_local std::vector<Line> lines;
    return lines;
  }
  Index used_ = 0;
};

/// From this many scores on, gemm is faster in spite of packing.
inline constexpr Index kLargeScores = 128 * 128;

template <class T>
bool is_large(const AttentionHead<T>& head) {
  return head.q.rows * head.k.rows > kLargeScores;
}

template <class T>
HWY_INLINE void multiply(bool large, const SmallProduct<T>& p) {
  if (large)
    gemm<T>(p.alpha, p.a, p.b, p.accumulate ? T{1} : T{0}, p.c);
  else
    multiply_small(p);
}

/// c [n, m] = alpha a b^T with a [n, d] and b^T [d, m], whose rows are padded with zeros. The padding of c's rows is
/// written too.
template <class T>
HWY_INLINE void multiply_transposed(T alpha, Matrix<const T> a, Matrix<const T> b_transposed, Matrix<T> c) {
  const Index width = c.row_stride;
  multiply_small<T>({a, Matrix<const T>(b_transposed.data, b_transposed.rows, width, b_transposed.row_stride),
                     Matrix<T>(c.data, c.rows, width, width), alpha, false});
}
/// The same of b [m, d]; `transposed` is scratch for b^T.
template <class T>
HWY_INLINE void multiply_by_transpose(bool large, T alpha, Matrix<const T> a, Matrix<const T> b,
                                      Matrix<T> transposed, Matrix<T> c) {
  if (large) return gemm<T>(alpha, a, b.t(), T{0}, c);
  transpose(b, transposed);
  multiply_transposed<T>(alpha, a, transposed, c);
}

/// Number of leading keys that query i may see.
template <class T>
HWY_INLINE Index visible_keys(const AttentionHead<T>& head, Index i) {
  return head.causal ? causal_keys(i, head.q.rows, head.k.rows) : head.k.rows;
}

/// Sets the scores of keys that a window excludes to -infinity.
template <class T>
HWY_INLINE void hide_first(Index hidden, T* scores) {
  for_vectors<T>(hidden,
                 [&](Index j, auto part) HWY_ATTR { part.store(set(kMinusInfinity<T>), scores + j); });
}

/// y += x.
template <class T>
HWY_INLINE void add_row(const T* x, Index n, T* y) {
  for_vectors<T>(
      n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(y + j) + part.load(x + j), y + j); });
}

/// Sets the scores that query i must not use to -infinity, including the padding of its row.
template <class T>
HWY_INLINE void hide_keys(const AttentionHead<T>& head, Index i, Matrix<T> scores) {
  T* row = scores.row(i);
  const Index m = head.k.rows, visible = visible_keys(head, i);
  if (head.mask)
    for (Index j = 0; j < visible; ++j)
      if (!head.mask[i * m + j]) row[j] = kMinusInfinity<T>;
  if (head.causal && head.window > 0) hide_first(visible - head.window, row);
  // Whole vectors: softmax loads whole vectors next, and loads after narrower stores would stall.
  for (Index j = visible / kLanes<T> * kLanes<T>; j < scores.row_stride; j += kLanes<T>) {
    const auto seen = hn::FirstN(Tag<T>(), static_cast<std::size_t>(std::max<Index>(visible - j, 0)));
    hn::StoreU(hn::IfThenElse(seen, hn::LoadU(Tag<T>(), row + j), set(kMinusInfinity<T>)), Tag<T>(), row + j);
  }
}

template <class T>
HWY_INLINE void copy_row(const T* from, Index n, T* to) {
  for_vectors<T>(n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(from + j), to + j); });
}

/// y[j] = x[j] times the dropout factor of element first + j.
template <class T>
HWY_INLINE void drop_row(KeepFactors<T>& keep, Index first, const T* x, Index n, T* y) {
  keep.for_runs(first, n, [&](Index from, Index count, const T* factors) HWY_ATTR {
    for_vectors<T>(count, [&](Index j, auto part) HWY_ATTR {
      part.store(part.load(x + from + j) * part.load(factors + j), y + from + j);
    });
  });
}

template <class T>
using EditOf = std::function<void(std::int64_t, std::span<T>)> RowEdit<T>::*;

template <class T>
HWY_INLINE void edit_row(const RowEdit<T>* edit, EditOf<T> what, Index query, T* row, Index n) {
  if (edit && edit->*what) (edit->*what)(query, {row, static_cast<std::size_t>(n)});
}

}  // namespace

template <class T>
void attend_forward(const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context,
                    const RowEdit<T>* edit) {
  const Index n = head.q.rows, m = head.k.rows, width = Scratch<T>::padded(m);
  const bool large = is_large(head);
  Scratch<T> scratch((n + head.k.cols) * width + n);
  const Matrix<T> p = scratch.matrix(n, m), k_transposed = scratch.matrix(head.k.cols, m);
  T* factor = scratch.matrix(1, n).data;
  if (head.k_transposed && !large)
    multiply_transposed(head.scale, head.q,
                        Matrix<const T>(head.k_transposed, head.k.cols, m, transposed_width(m)), p);
  else
    multiply_by_transpose(large, head.scale, head.q, head.k, k_transposed, p);
  for (Index i = 0; i < n; ++i) {
    if (head.bias) add_row(head.bias + i * head.bias_step, m, p.row(i));
    edit_row(edit, &RowEdit<T>::scores, i, p.row(i), m);
    if (scores) copy_row(p.row(i), m, scores + i * m);
    hide_keys(head, i, p);
    factor[i] = softmax_shift(p.row(i), width);
  }
  for (Index i = 0; i < n; ++i) factor[i] = softmax_exp(p.row(i), width, factor[i]);
  KeepFactors<T> keep(head.drop);
  for (Index i = 0; i < n; ++i) {
    scale_row(p.row(i), width, factor[i]);
    edit_row(edit, &RowEdit<T>::weights, i, p.row(i), m);
    copy_row(p.row(i), m, weights + i * m);
    if (head.drop.active()) drop_row(keep, i * m, p.row(i), m, p.row(i));
  }
  multiply<T>(large, {p, head.v, context, 1, false});
}

namespace {

/// d_p [n, m], the gradient of the dropped weights, becomes that of the unscaled products q k^T, in place:
///   d_p = d_p through dropout;  d_s = scale p (d_p - sum_j d_p p);  d_bias += d_s / scale.
template <class T>
HWY_INLINE void softmax_backward(const AttentionHead<T>& head, const T* weights, Matrix<T> d_p, T* d_bias) {
  const Index m = d_p.cols;
  KeepFactors<T> keep(head.drop);
  for (Index i = 0; i < d_p.rows; ++i) {
    T* d_row = d_p.row(i);
    const T* w = weights + i * m;
    if (head.drop.active()) drop_row(keep, i * m, d_row, m, d_row);
    Vec<T> sums = set(T{0});
    for_vectors<T>(m, [&](Index j, auto part)
                          HWY_ATTR { sums = hn::MulAdd(part.load(d_row + j), part.load(w + j), sums); });
    const Vec<T> sum = set(sum_of_lanes<T>(sums)), scale = set(head.scale);
    if (T* d = d_bias ? d_bias + i * head.bias_step : nullptr) {
      for_vectors<T>(m, [&](Index j, auto part) HWY_ATTR {
        part.store(hn::MulAdd(part.load(d_row + j) - sum, part.load(w + j), part.load(d + j)), d + j);
      });
    }
    for_vectors<T>(m, [&](Index j, auto part) HWY_ATTR {
      part.store((part.load(d_row + j) - sum) * (part.load(w + j) * scale), d_row + j);
    });
  }
}

}  // namespace

// context = P V,  P = dropout(W),  W = softmax(scale q k^T):
//   d_v = P^T d_context;  d_P = d_context V^T;  d_S from d_P;  d_q = d_S k;  d_k = d_S^T q.
template <class T>
void attend_backward(const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, T* d_bias) {
  const Index n = head.q.rows, m = head.k.rows, width = Scratch<T>::padded(m);
  const bool large = is_large(head);
  Scratch<T> scratch((2 * n + head.v.cols) * width);
  Matrix<const T> p(weights, n, m);
  if (head.drop.active()) {
    const Matrix<T> dropped = scratch.matrix(n, m);
    KeepFactors<T> keep(head.drop);
    for (Index i = 0; i < n; ++i) drop_row(keep, i * m, weights + i * m, m, dropped.row(i));
    p = dropped;
  }
  multiply<T>(large, {p.t(), d_context, d_v, 1, true});
  const Matrix<T> d_p = scratch.matrix(n, m), v_transposed = scratch.matrix(head.v.cols, m);
  multiply_by_transpose(large, T{1}, d_context, head.v, v_transposed, d_p);
  softmax_backward(head, weights, d_p, d_bias);
  multiply<T>(large, {d_p, head.k, d_q, 1, true});
  multiply<T>(large, {Matrix<const T>(d_p).t(), head.q, d_k, 1, true});
}

namespace {

template <class T>
HWY_INLINE T dot(const T* x, const T* y, Index n) {
  Vec<T> sum = set(T{0});
  for_vectors<T>(
      n, [&](Index i, auto part) HWY_ATTR { sum = hn::MulAdd(part.load(x + i), part.load(y + i), sum); });
  return sum_of_lanes<T>(sum);
}

/// context[c] = sum_j w[j] values[rows[j]][c]
template <class T>
HWY_INLINE void weighted_sum(const T* w, Matrix<const T> values, std::span<const std::int32_t> rows,
                             T* context) {
  const Index m = rows.size(), d = values.cols;
  const Whole<T> all;
  Index c = 0;
  for (; c + 2 * kLanes<T> <= d; c += 2 * kLanes<T>) {
    Vec<T> sum0 = set(T{0}), sum1 = sum0;
    for (Index j = 0; j < m; ++j) {
      const Vec<T> weight = set(w[j]);
      sum0 = hn::MulAdd(weight, all.load(values.row(rows[j]) + c), sum0);
      sum1 = hn::MulAdd(weight, all.load(values.row(rows[j]) + c + kLanes<T>), sum1);
    }
    all.store(sum0, context + c);
    all.store(sum1, context + c + kLanes<T>);
  }
  for_vectors<T>(d - c, [&](Index rest, auto part) HWY_ATTR {
    Vec<T> sum = set(T{0});
    for (Index j = 0; j < m; ++j) sum = hn::MulAdd(set(w[j]), part.load(values.row(rows[j]) + c + rest), sum);
    part.store(sum, context + c + rest);
  });
}

}  // namespace

template <class T>
void attend_cached(const T* q, Matrix<const T> keys, Matrix<const T> values,
                   std::span<const std::int32_t> rows, Index n_heads, Index n_kv_heads, T scale, T* weights,
                   T* context, const RowEdit<T>* edit, const T* bias, Index bias_step, Index hidden) {
  const Index m = rows.size(), d_k = keys.cols / n_kv_heads, d_v = values.cols / n_kv_heads,
              shared = n_heads / n_kv_heads;
  Scratch<T> scratch(n_heads * Scratch<T>::padded(m));
  const Matrix<T> w = scratch.matrix(n_heads, m);
  for (Index j = 0; j < m; ++j) {  // a key's row holds all heads
    const T* key = keys.row(rows[j]);
    for (Index h = 0; h < n_heads; ++h) w(h, j) = scale * dot(q + h * d_k, key + h / shared * d_k, d_k);
  }
  for (Index h = 0; h < n_heads; ++h) {
    if (bias) add_row(bias + h * bias_step, m, w.row(h));
    edit_row(edit, &RowEdit<T>::scores, h, w.row(h), m);
    hide_first(hidden, w.row(h));
    softmax_row(w.row(h), m);
    edit_row(edit, &RowEdit<T>::weights, h, w.row(h), m);
    weighted_sum(w.row(h), values.columns(h / shared * d_v, d_v), rows, context + h * d_v);
    if (weights) copy_row(w.row(h), m, weights + h * m);
  }
}

template <class T>
void transposed_keys(Matrix<const T> k, T* y) {
  const Index width = transposed_width(k.rows);
  static_assert(16 % kLanes<T> == 0);
  transpose(k, Matrix<T>(y, k.cols, width, width));
}

HEED_TARGET_KERNEL(attend_forward)
HEED_TARGET_KERNEL(attend_backward)
HEED_TARGET_KERNEL(attend_cached)
HEED_TARGET_KERNEL(transposed_keys)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, attend_forward,
            (const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context, const RowEdit<T>* edit),
            (head, scores, weights, context, edit))
HEED_KERNEL(void, attend_backward,
            (const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
             Matrix<T> d_k, Matrix<T> d_v, T* d_bias),
            (head, weights, d_context, d_q, d_k, d_v, d_bias))
HEED_KERNEL(void, attend_cached,
            (const T* q, Matrix<const T> keys, Matrix<const T> values, std::span<const std::int32_t> rows,
             std::int64_t n_heads, std::int64_t n_kv_heads, T scale, T* weights, T* context,
             const RowEdit<T>* edit, const T* bias, std::int64_t bias_step, std::int64_t hidden),
            (q, keys, values, rows, n_heads, n_kv_heads, scale, weights, context, edit, bias, bias_step,
             hidden))
HEED_KERNEL(void, transposed_keys, (Matrix<const T> k, T* y), (k, y))

}  // namespace heed
#endif
