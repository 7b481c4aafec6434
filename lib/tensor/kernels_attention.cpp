// Attention of one sentence and one head. Scaled dot-product attention: Vaswani et al. 2017, eq. 1.
// Short sentences, as most are, use small register-blocked products. Long ones are processed a block of queries at a time
// over packed keys and values, so that only a block of the scores exists.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_attention.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_attention.h"
#include "tensor/simd_product.h"

#include "tensor/causal_mask.h"
#include "tensor/packed_weights.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// With more scores than this, packing keys and values pays.
inline constexpr Index kFewScores = 128 * 128;

/// c [n, m] = alpha a b^T with a [n, d] and b^T [d, m], whose rows are padded with zeros. The padding of c's rows is
/// written too.
template <class T>
HWY_INLINE void multiply_transposed(T alpha, Matrix<const T> a, Matrix<const T> b_transposed, Matrix<T> c) {
  const Index width = c.row_stride;
  multiply_small<T>({a, Matrix<const T>(b_transposed.data, b_transposed.rows, width, b_transposed.row_stride),
                     Matrix<T>(c.data, c.rows, width, width), alpha, false});
}

/// Keys from the first on, up to `end`, which is excluded.
struct KeyRange {
  Index first, end;

  Index count() const { return end - first; }
};

/// The keys that query i may see: no bound falls from one query to the next.
template <class T>
HWY_INLINE KeyRange visible_keys(const AttentionHead<T>& head, Index i) {
  const Index n = head.q.rows, m = head.k.rows, end = head.causal ? causal_keys(i, n, m) : m;
  if (head.window == 0) return {0, end};
  const Index position = i + m - n;
  return {std::clamp<Index>(position - head.window + 1, 0, m),
          std::clamp<Index>(position + head.window, 0, end)};
}

/// Sets the scores of the keys that query i must not see to -infinity, and those of the padding up to `width`. The row
/// begins with key `from`.
template <class T>
HWY_INLINE void hide_keys(const AttentionHead<T>& head, Index i, Index from, T* row, Index width) {
  const KeyRange seen = visible_keys(head, i);
  if (head.mask)
    for (Index j = seen.first; j < seen.end; ++j)
      if (!head.mask[i * head.k.rows + j]) row[j - from] = kMinusInfinity<T>;
  hide_first(seen.first - from, row);
  hide_after(seen.end - from, row, width);
}

template <class T>
HWY_INLINE void copy_scaled(const T* from, Index n, T factor, T* to) {
  for_vectors<T>(n,
                 [&](Index j, auto part) HWY_ATTR { part.store(part.load(from + j) * set(factor), to + j); });
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

/// Turns p, the products q k^T of the queries from `first` and the keys from `from` on, into exp(score - shift); factor[i]
/// normalises row i. `scores` and `edit`, if given, are of all queries, and p must then have all keys.
template <class T>
HWY_INLINE void exponentiate(const AttentionHead<T>& head, Index first, Index from, Matrix<T> p, T* factor,
                             T* scores = nullptr, const RowEdit<T>* edit = nullptr) {
  const Index width = Scratch<T>::padded(p.cols);
  for (Index i = 0; i < p.rows; ++i) {
    const Index query = first + i;
    if (head.bias) add_row(head.bias + query * head.bias_step + from, p.cols, p.row(i));
    edit_row(edit, &RowEdit<T>::scores, query, p.row(i), p.cols);
    if (scores) copy_row(p.row(i), p.cols, scores + query * p.cols);
    hide_keys(head, query, from, p.row(i), width);
  }
  exponentiate_rows(p, width, factor);
}

/// Turns what exponentiate() gave into the weights that are applied: normalised, edited, with dropout. With
/// `normalise_context` they are not normalised, as the context, which is narrower, will be; they cannot be edited then.
template <class T>
HWY_INLINE void finish_weights(const AttentionHead<T>& head, Index first, Index from, Matrix<T> p,
                               const T* factor, T* weights = nullptr, const RowEdit<T>* edit = nullptr,
                               bool normalise_context = false) {
  KeepFactors<T> keep(head.drop);
  for (Index i = 0; i < p.rows; ++i) {
    const Index query = first + i;
    if (!normalise_context) scale_row(p.row(i), Scratch<T>::padded(p.cols), factor[i]);
    edit_row(edit, &RowEdit<T>::weights, query, p.row(i), p.cols);
    if (weights)
      copy_scaled(p.row(i), p.cols, normalise_context ? factor[i] : T{1}, weights + query * p.cols);
    if (head.drop.active()) drop_row(keep, query * head.k.rows + from, p.row(i), p.cols, p.row(i));
  }
}

// ---- a block of queries at a time ----

/// Queries of a block. The products that sum over queries, of the gradients of keys and values, read and write those
/// gradients once in every block, which costs more than scores that lie in the third-level cache instead of the second.
inline constexpr Index kBlockQueries = 96;

/// Keys that the products with values, and of gradients with keys, take at once: what they read of all queries of a block
/// stays in the second-level cache while it meets all columns.
inline constexpr Index kBlockKeys = 512;
/// Keys that a transposed product takes at once, in float32 so many that what it reads stays in the first-level cache.
inline constexpr Index kFewKeys = 48;

/// The keys that some query of a block sees, and a few before them, so that a panel begins with the first.
template <class T>
HWY_INLINE KeyRange keys_of_block(const AttentionHead<T>& head, Index first, Index rows) {
  const Index seen_first = visible_keys(head, first).first;
  return {seen_first - seen_first % kPanelColumns<T>, visible_keys(head, first + rows - 1).end};
}

/// c = a b, or c += a b to accumulate, with a.cols rows of b, which may be none, from row `from` on: panel by panel, as these
/// rows are contiguous in each panel only. Sums are cut where b's rows say, so that keys that no query of a block sees change
/// no bit.
template <class T>
HWY_INLINE void multiply_rows(Matrix<const T> a, const PackedMatrix<T>& b, Index from, bool accumulate,
                              Matrix<T> c) {
  bool adds = accumulate;
  const auto add = [&](Index first, Index keys) HWY_ATTR {
    const Matrix<const T> a_keys = a.columns(first - from, keys);
    for (Index j = 0; j < b.cols; j += kPanelColumns<T>) {
      const Index cols = std::min(kPanelColumns<T>, b.cols - j);
      const PackedMatrix<T> panel{b.panels + j * b.rows + first * kPanelColumns<T>, keys, cols};
      if (adds)
        multiply_packed_add<T>(a_keys, panel, c.columns(j, cols));
      else
        multiply_packed<T>(a_keys, panel, {}, Activation::none, c.columns(j, cols));
    }
    adds = true;
  };
  each_block(b.rows, kBlockKeys, [&](Index first, Index most) HWY_ATTR {
    const Index begin = std::max(first, from), end = std::min(first + most, from + a.cols);
    if (begin < end) add(begin, end - begin);
  });
  if (!adds) add(from, 0);
}

/// exponentiate() of scale q k^T; `scaled` is scratch for scale q.
template <class T>
HWY_INLINE void exponentiate_block(const AttentionHead<T>& head, const PackedMatrix<T>& keys, Index first,
                                   Index from, Matrix<T> scaled, Matrix<T> p, T* factor, T* scores = nullptr,
                                   const RowEdit<T>* edit = nullptr) {
  for (Index i = 0; i < p.rows; ++i)
    copy_scaled(head.q.row(first + i), scaled.cols, head.scale, scaled.row(i));
  multiply_packed<T>(scaled.row_range(0, p.rows), keys.columns(from, p.cols), {}, Activation::none, p);
  exponentiate(head, first, from, p, factor, scores, edit);
}

template <class T>
void forward_in_blocks(const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context,
                       const RowEdit<T>* edit) {
  const Index n = head.q.rows, m = head.k.rows, d_k = head.k.cols, d_v = head.v.cols;
  const Index most = std::min(n, kBlockQueries);
  const bool edited = edit && edit->weights;
  Scratch<T> scratch(packed_size<T>(d_k, m) + packed_size<T>(m, d_v) +
                     most * (Scratch<T>::padded(d_k) + Scratch<T>::padded_apart(m)) +
                     Scratch<T>::padded(most));
  const PackedMatrix<T> keys = pack<T>(head.k.t(), scratch.array(packed_size<T>(d_k, m)));
  const PackedMatrix<T> values = pack<T>(head.v, scratch.array(packed_size<T>(m, d_v)));
  const Matrix<T> scaled = scratch.matrix(most, d_k), all = scratch.apart(most, m);
  T* const factor = scratch.array(Scratch<T>::padded(most));
  each_block(n, most, [&](Index first, Index rows) HWY_ATTR {
    const KeyRange seen = scores || weights || edit ? KeyRange{0, m} : keys_of_block(head, first, rows);
    const Matrix<T> p = all.row_range(0, rows).columns(0, seen.count());
    exponentiate_block(head, keys, first, seen.first, scaled, p, factor, scores, edit);
    finish_weights(head, first, seen.first, p, factor, weights, edit, !edited);
    const Matrix<T> y = context.row_range(first, rows);
    multiply_rows<T>(p, values, seen.first, false, y);
    for (Index i = 0; i < rows && !edited; ++i) scale_row(y.row(i), d_v, factor[i]);
  });
}

}  // namespace

template <class T>
void attend_forward(const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context,
                    const RowEdit<T>* edit) {
  const Index n = head.q.rows, m = head.k.rows, width = Scratch<T>::padded(m);
  if (n * m > kFewScores) return forward_in_blocks(head, scores, weights, context, edit);
  Scratch<T> scratch((n + head.k.cols) * width + Scratch<T>::padded(n));
  const Matrix<T> p = scratch.matrix(n, m), k_transposed = scratch.matrix(head.k.cols, m);
  T* const factor = scratch.array(Scratch<T>::padded(n));
  if (head.k_transposed) {
    multiply_transposed(head.scale, head.q,
                        Matrix<const T>(head.k_transposed, head.k.cols, m, transposed_width(m)), p);
  } else {
    transpose(head.k, k_transposed);
    multiply_transposed<T>(head.scale, head.q, k_transposed, p);
  }
  exponentiate(head, 0, 0, p, factor, scores, edit);
  finish_weights(head, 0, 0, p, factor, weights, edit);
  multiply_small<T>({p, head.v, context, 1, false});
}

namespace {

/// Turns d_p, the gradient of the weights after dropout of the queries from `first` and the keys from `from` on, into that
/// of the unscaled products q k^T, in place:
///   d_p = d_p through dropout;  d_s = scale w (d_p - sum_j d_p w);  d_bias += d_s / scale,
/// where w is row i of p times factor[i], or p itself if there are no factors.
template <class T>
HWY_INLINE void softmax_backward(const AttentionHead<T>& head, Index first, Index from, Matrix<const T> p,
                                 const T* factor, Matrix<T> d_p, T* d_bias) {
  const Index m = d_p.cols;
  KeepFactors<T> keep(head.drop);
  for (Index i = 0; i < d_p.rows; ++i) {
    T* d_row = d_p.row(i);
    const T* w = p.row(i);
    const T f = factor ? factor[i] : T{1};
    if (head.drop.active()) drop_row(keep, (first + i) * head.k.rows + from, d_row, m, d_row);
    Vec<T> sums = set(T{0});
    for_vectors<T>(m, [&](Index j, auto part)
                          HWY_ATTR { sums = hn::MulAdd(part.load(d_row + j), part.load(w + j), sums); });
    const Vec<T> sum = set(f * sum_of_lanes<T>(sums)), scale = set(f * head.scale);
    if (T* d = d_bias ? d_bias + (first + i) * head.bias_step + from : nullptr) {
      for_vectors<T>(m, [&](Index j, auto part) HWY_ATTR {
        const Vec<T> difference = part.load(d_row + j) - sum;
        part.store(hn::MulAdd(difference, part.load(w + j) * set(f), part.load(d + j)), d + j);
      });
    }
    for_vectors<T>(m, [&](Index j, auto part) HWY_ATTR {
      part.store((part.load(d_row + j) - sum) * (part.load(w + j) * scale), d_row + j);
    });
  }
}

/// c += a^T b; `panels` is scratch for b, which has as many rows as a block has queries. A few columns of a meet all of b
/// before the next do: down a column of a long head, every number is in another page of memory.
template <class T>
HWY_INLINE void add_transposed_product(Matrix<const T> a, Matrix<const T> b, T* panels, Matrix<T> c) {
  const PackedMatrix<T> packed = pack<T>(b, panels);
  each_block(a.cols, kFewKeys, [&](Index first, Index keys) HWY_ATTR {
    multiply_packed_add<T>(a.columns(first, keys).t(), packed, c.row_range(first, keys));
  });
}

template <class T>
void backward_in_blocks(const AttentionHead<T>& head, Matrix<const T> d_context, Matrix<T> d_q, Matrix<T> d_k,
                        Matrix<T> d_v, T* d_bias) {
  const Index n = head.q.rows, m = head.k.rows, d = head.k.cols, d_values = head.v.cols;
  const Index most = std::min(n, kBlockQueries);
  const Index row_size = packed_size<T>(most, std::max(d, d_values));
  Scratch<T> scratch(
      packed_size<T>(d, m) + packed_size<T>(d_values, m) + packed_size<T>(m, d) + row_size +
      most * (Scratch<T>::padded(d) + Scratch<T>::padded(d_values) + 2 * Scratch<T>::padded_apart(m)) +
      Scratch<T>::padded(most));
  const PackedMatrix<T> keys_transposed = pack<T>(head.k.t(), scratch.array(packed_size<T>(d, m))),
                        values_transposed = pack<T>(head.v.t(), scratch.array(packed_size<T>(d_values, m))),
                        keys = pack<T>(head.k, scratch.array(packed_size<T>(m, d)));
  T* const panels = scratch.array(row_size);
  const Matrix<T> scaled = scratch.matrix(most, d), scaled_d_y = scratch.matrix(most, d_values),
                  all_p = scratch.apart(most, m), all_d_p = scratch.apart(most, m);
  T* const factor = scratch.array(Scratch<T>::padded(most));
  each_block(n, most, [&](Index first, Index rows) HWY_ATTR {
    const KeyRange seen = keys_of_block(head, first, rows);
    const Index from = seen.first, count = seen.count();
    const Matrix<T> p = all_p.row_range(0, rows).columns(0, count),
                    d_p = all_d_p.row_range(0, rows).columns(0, count);
    exponentiate_block(head, keys_transposed, first, from, scaled, p, factor);
    const Matrix<const T> d_y = d_context.row_range(first, rows);
    multiply_packed<T>(d_y, values_transposed.columns(from, count), {}, Activation::none, d_p);
    softmax_backward<T>(head, first, from, p, factor, d_p, d_bias);
    if (head.drop.active()) {
      KeepFactors<T> keep(head.drop);
      for (Index i = 0; i < rows; ++i) drop_row(keep, (first + i) * m + from, p.row(i), count, p.row(i));
    }
    for (Index i = 0; i < rows; ++i) copy_scaled(d_y.row(i), d_values, factor[i], scaled_d_y.row(i));
    add_transposed_product<T>(p, scaled_d_y.row_range(0, rows), panels, d_v.row_range(from, count));
    multiply_rows<T>(d_p, keys, from, true, d_q.row_range(first, rows));
    add_transposed_product<T>(d_p, head.q.row_range(first, rows), panels, d_k.row_range(from, count));
  });
}

}  // namespace

// context = P V,  P = dropout(W),  W = softmax(scale q k^T):
//   d_v = P^T d_context;  d_P = d_context V^T;  d_S from d_P;  d_q = d_S k;  d_k = d_S^T q.
template <class T>
void attend_backward(const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, T* d_bias) {
  const Index n = head.q.rows, m = head.k.rows, width = Scratch<T>::padded(m);
  if (n * m > kFewScores) return backward_in_blocks(head, d_context, d_q, d_k, d_v, d_bias);
  Scratch<T> scratch((2 * n + head.v.cols) * width);
  const Matrix<const T> w(weights, n, m);
  Matrix<const T> p = w;
  if (head.drop.active()) {
    const Matrix<T> dropped = scratch.matrix(n, m);
    KeepFactors<T> keep(head.drop);
    for (Index i = 0; i < n; ++i) drop_row(keep, i * m, w.row(i), m, dropped.row(i));
    p = dropped;
  }
  multiply_small<T>({p.t(), d_context, d_v, 1, true});
  const Matrix<T> d_p = scratch.matrix(n, m), v_transposed = scratch.matrix(head.v.cols, m);
  transpose(head.v, v_transposed);
  multiply_transposed<T>(1, d_context, v_transposed, d_p);
  softmax_backward<T>(head, 0, 0, w, nullptr, d_p, d_bias);
  multiply_small<T>({d_p, head.k, d_q, 1, true});
  multiply_small<T>({Matrix<const T>(d_p).t(), head.q, d_k, 1, true});
}

HEED_TARGET_KERNEL(attend_forward)
HEED_TARGET_KERNEL(attend_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

bool attention_keeps_weights(std::int64_t n, std::int64_t m) {
  return n * m <= HWY_NAMESPACE::kFewScores;
}

HEED_KERNEL(void, attend_forward,
            (const AttentionHead<T>& head, T* scores, T* weights, Matrix<T> context, const RowEdit<T>* edit),
            (head, scores, weights, context, edit))
HEED_KERNEL(void, attend_backward,
            (const AttentionHead<T>& head, const T* weights, Matrix<const T> d_context, Matrix<T> d_q,
             Matrix<T> d_k, Matrix<T> d_v, T* d_bias),
            (head, weights, d_context, d_q, d_k, d_v, d_bias))

}  // namespace heed
#endif
