// Attention of one sentence and one head. Scaled dot-product attention: Vaswani et al. 2017, eq. 1.
// Short sentences, as most are, use small register-blocked products. Long ones are processed a block of queries at a time
// over packed keys and values, so that only a block of the scores exists.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_attention.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_product.h"
#include "tensor/simd_softmax.h"

#include <bit>
#include <vector>

#include "tensor/causal_mask.h"
#include "tensor/packed_weights.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Scratch memory of one call: arrays aligned to cache lines, in memory that the thread keeps.
template <class T>
class Scratch {
 public:
  explicit Scratch(Index elements) {
    const std::size_t lines = elements / kLine + 10;  // each matrix is rounded up to whole lines
    if (memory().size() < lines) memory().resize(lines);
  }
  /// [rows, cols], rows padded to whole vectors.
  Matrix<T> matrix(Index rows, Index cols) {
    const Index stride = padded(cols);
    return {array(rows * stride), rows, cols, stride};
  }
  /// The same for rows of which many are read side by side: spaced so that they do not compete for the same cache sets.
  Matrix<T> apart(Index rows, Index cols) {
    const Index stride = padded_apart(cols);
    return {array(rows * stride), rows, cols, stride};
  }
  T* array(Index elements) {
    T* const first = memory().data()->elements + used_;
    used_ += (elements + kLine - 1) / kLine * kLine;
    return first;
  }
  static Index padded_apart(Index cols) {
    constexpr Index same_lines = 1024 / sizeof(T);
    const Index stride = padded(cols);
    return stride % same_lines ? stride : stride + kLine;
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

/// Sets the first scores to -infinity, in whole vectors as hide_after() does.
template <class T>
HWY_INLINE void hide_first(Index hidden, T* scores) {
  for (Index j = 0; j < hidden; j += kLanes<T>) {
    const auto unseen = hn::FirstN(Tag<T>(), static_cast<std::size_t>(hidden - j));
    hn::StoreU(hn::IfThenElse(unseen, set(kMinusInfinity<T>), hn::LoadU(Tag<T>(), scores + j)), Tag<T>(),
               scores + j);
  }
}

/// y += x.
template <class T>
HWY_INLINE void add_row(const T* x, Index n, T* y) {
  for_vectors<T>(
      n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(y + j) + part.load(x + j), y + j); });
}

/// Sets the scores from `visible` on to -infinity, up to `width`, a whole number of vectors. It stores whole vectors:
/// softmax loads them next, and a load that spans several narrower stores would stall.
template <class T>
HWY_INLINE void hide_after(Index visible, T* scores, Index width) {
  for (Index j = visible / kLanes<T> * kLanes<T>; j < width; j += kLanes<T>) {
    const auto seen = hn::FirstN(Tag<T>(), static_cast<std::size_t>(std::max<Index>(visible - j, 0)));
    hn::StoreU(hn::IfThenElse(seen, hn::LoadU(Tag<T>(), scores + j), set(kMinusInfinity<T>)), Tag<T>(),
               scores + j);
  }
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
HWY_INLINE void copy_row(const T* from, Index n, T* to) {
  for_vectors<T>(n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(from + j), to + j); });
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

template <class T>
using EditOf = std::function<void(std::int64_t, std::span<T>)> RowEdit<T>::*;

template <class T>
HWY_INLINE void edit_row(const RowEdit<T>* edit, EditOf<T> what, Index query, T* row, Index n) {
  if (edit && edit->*what) (edit->*what)(query, {row, static_cast<std::size_t>(n)});
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

namespace {

/// The dot product of x and y [d] in partial sums, one per lane. `vectors`: d in whole vectors; 0: any d.
template <Index vectors, class T>
HWY_INLINE Vec<T> products(const T* x, const T* y, Index d) {
  Vec<T> sum = set(T{0});
  if constexpr (vectors > 0) {
    const Whole<T> all;
#pragma GCC unroll 16
    for (Index v = 0; v < vectors; ++v)
      sum = hn::MulAdd(all.load(x + v * kLanes<T>), all.load(y + v * kLanes<T>), sum);
  } else {
    for_vectors<T>(
        d, [&](Index i, auto part) HWY_ATTR { sum = hn::MulAdd(part.load(x + i), part.load(y + i), sum); });
  }
  return sum;
}

/// w(h, j + i) = scale q_h key_i for all heads h and up to `count` keys, at most as many as a vector has lanes. A whole
/// vector is written: meaningless numbers follow the last key.
template <Index vectors, Index count, class T>
HWY_INLINE void score_keys(const T* q, const T* const* key, Index d, Index shared, T scale, Index j,
                           Matrix<T> w) {
  for (Index h = 0; h < w.rows; ++h) {
    const Index at = h / shared * d;
    const Vec<T> sums = sums_of_lanes<T, count>(
        [&](Index i) HWY_ATTR { return products<vectors>(q + h * d, key[i] + at, d); });
    hn::StoreU(set(scale) * sums, Tag<T>(), w.row(h) + j);
  }
}

template <Index vectors, class T>
HWY_NOINLINE void score_rows(const T* q, Matrix<const T> keys, std::span<const std::int32_t> rows, Index d,
                             Index shared, T scale, Matrix<T> w) {
  constexpr Index lanes = kLanes<T>;
  const Index m = rows.size();
  for (Index j = 0; j < m; j += lanes) {
    const Index left = std::min(m - j, lanes);
    const T* key[lanes];
    for (Index i = 0; i < lanes; ++i) key[i] = keys.row(rows[j + std::min(i, left - 1)]);
    if (left <= lanes / 4)
      score_keys<vectors, std::max<Index>(lanes / 4, 1)>(q, key, d, shared, scale, j, w);
    else if (left <= lanes / 2)
      score_keys<vectors, std::max<Index>(lanes / 2, 1)>(q, key, d, shared, scale, j, w);
    else
      score_keys<vectors, lanes>(q, key, d, shared, scale, j, w);
  }
}

// Rows of keys or values, of which a row of factors makes a weighted sum. offset() leads from a row to a column of a later one.
template <class T>
struct PlainRows {
  Matrix<const T> x;

  HWY_INLINE Index offset(Index row, Index column) const { return row * x.row_stride + column; }
  /// Row 2 pair + odd, from this offset on.
  template <Index odd, class Part>
  HWY_INLINE Vec<T> load(Index pair, Index offset, const Part& part) const {
    return part.load(x.row(2 * pair + odd) + offset);
  }
};
/// Those that `rows` lists.
template <class T>
struct ListedRows {
  Matrix<const T> x;
  std::span<const std::int32_t> rows;

  template <Index odd, class Part>
  HWY_INLINE Vec<T> load(Index pair, Index offset, const Part& part) const {
    return part.load(x.row(rows[static_cast<std::size_t>(2 * pair + odd)]) + offset);
  }
};
/// Two rows of bfloat16 in one, as pair_keys_and_values has them.
struct PairedRows {
  Matrix<const float> x;

  HWY_INLINE Index offset(Index row, Index column) const { return row / 2 * x.row_stride + column; }
  template <Index odd, class Part>
  HWY_INLINE Vec<float> load(Index pair, Index offset, const Part& part) const {
    const Tag<std::uint32_t> words;
    const auto both = hn::BitCast(words, part.load(x.row(pair) + offset));
    return hn::BitCast(Tag<float>(), bfloat16_of_pair<odd>(both));
  }
};

template <Index odd, Index heads, Index vectors, class T, class Rows, class Part>
HWY_INLINE void add_weighted_row(const Rows& rows, Index pair, const T* const (&factor)[heads],
                                 const Index (&offset)[heads], const Part& part,
                                 Vec<T> (&sum)[heads][vectors]) {
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r) {
    const Vec<T> f = set(factor[r][2 * pair + odd]);
#pragma GCC unroll 16
    for (Index v = 0; v < vectors; ++v)
      sum[r][v] = hn::MulAdd(f, rows.template load<odd>(pair, offset[r] + v * kLanes<T>, part), sum[r][v]);
  }
}

/// sum[r] = sum_l factor[r][l] row_l, the vectors from offset[r] on, of `count` rows. Interleaving the sums of several
/// heads hides the latency of an addition.
template <Index heads, Index vectors, class T, class Rows, class Part>
HWY_INLINE void weighted_rows(const Rows& rows, Index count, const T* const (&factor)[heads],
                              const Index (&offset)[heads], const Part& part, Vec<T> (&sum)[heads][vectors]) {
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r)
#pragma GCC unroll 16
    for (Index v = 0; v < vectors; ++v) sum[r][v] = set(T{0});
  Index pair = 0;
  for (; pair < count / 2; ++pair) {
    add_weighted_row<0>(rows, pair, factor, offset, part, sum);
    add_weighted_row<1>(rows, pair, factor, offset, part, sum);
  }
  if (count % 2) add_weighted_row<0>(rows, pair, factor, offset, part, sum);
}

/// Contexts of heads side by side, each of width d.
template <class T>
struct HeadContexts {
  Matrix<const T> weights;  ///< [n_heads, m]
  Index d, shared;          ///< `shared` consecutive heads have the same values
  T* context;

  Index heads() const { return weights.rows; }
  /// Where the values of a head are.
  Index column(Index h) const { return h / shared * d; }
};

/// context = sum_j w_j value_j for `heads` heads from head h on, each `vectors` whole vectors wide.
template <Index heads, Index vectors, class T, class Rows>
HWY_INLINE void context_tile(const HeadContexts<T>& y, Index h, const Rows& values) {
  const Whole<T> all;
  const T* weight[heads];
  Index column[heads];
  Vec<T> sum[heads][vectors];
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r) {
    weight[r] = y.weights.row(h + r);
    column[r] = y.column(h + r);
  }
  weighted_rows(values, y.weights.cols, weight, column, all, sum);
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r)
#pragma GCC unroll 16
    for (Index v = 0; v < vectors; ++v) all.store(sum[r][v], y.context + (h + r) * y.d + v * kLanes<T>);
}

template <Index heads, Index vectors, class T, class Rows>
HWY_INLINE void context_tiles(const HeadContexts<T>& y, const Rows& values) {
  Index h = 0;
  for (; h + heads <= y.heads(); h += heads) context_tile<heads, vectors>(y, h, values);
  for (; h < y.heads(); ++h) context_tile<1, vectors>(y, h, values);
}

/// The contexts of all heads.
template <class T, class Rows>
HWY_INLINE void weighted_values(const HeadContexts<T>& y, const Rows& values) {
  if (y.d == 2 * kLanes<T>) return context_tiles<4, 2>(y, values);
  if (y.d == 4 * kLanes<T>) return context_tiles<2, 4>(y, values);
  for (Index h = 0; h < y.heads(); ++h) {  // heads of other widths, vector by vector
    for_vectors<T>(y.d, [&](Index c, auto part) HWY_ATTR {
      const T* const weight[1] = {y.weights.row(h)};
      const Index column[1] = {y.column(h) + c};
      Vec<T> sum[1][1];
      weighted_rows(values, y.weights.cols, weight, column, part, sum);
      part.store(sum[0][0], y.context + h * y.d + c);
    });
  }
}

/// w = alpha q k for `heads` heads from head h on and `vectors` vectors of keys from key j on. The keys are transposed;
/// `shared` consecutive heads have the same.
template <Index heads, Index vectors, class T, class Rows>
HWY_INLINE void score_tile(const T* q, const Rows& keys_transposed, Index d, Index shared, Index h, Index j,
                           T alpha, Matrix<T> w) {
  const Whole<T> all;
  const T* query[heads];
  Index key[heads];
  Vec<T> sum[heads][vectors];
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r) {
    query[r] = q + (h + r) * d;
    key[r] = keys_transposed.offset((h + r) / shared * d, j);
  }
  weighted_rows(keys_transposed, d, query, key, all, sum);
#pragma GCC unroll 16
  for (Index r = 0; r < heads; ++r)
#pragma GCC unroll 16
    for (Index v = 0; v < vectors; ++v) all.store(set(alpha) * sum[r][v], w.row(h + r) + j + v * kLanes<T>);
}

template <Index vectors, class T, class Rows>
HWY_INLINE void score_columns(const T* q, const Rows& keys_transposed, Index d, Index shared, Index j,
                              T alpha, Matrix<T> w) {
  Index h = 0;
  for (; h + 4 <= w.rows; h += 4) score_tile<4, vectors>(q, keys_transposed, d, shared, h, j, alpha, w);
  for (; h < w.rows; ++h) score_tile<1, vectors>(q, keys_transposed, d, shared, h, j, alpha, w);
}

/// All heads of one query over m keys, transposed, and values.
template <class T, class Rows>
HWY_INLINE void attend_rows(const T* q, const QueryHeads& heads, Index m, const Rows& keys,
                            const Rows& values, T scale, T* context) {
  const Index width = Scratch<T>::padded(m), n = heads.n_heads, shared = n / heads.n_kv_heads;
  Scratch<T> scratch(n * width + Scratch<T>::padded(n));
  const Matrix<T> w = scratch.matrix(n, m);
  T* const factor = scratch.array(Scratch<T>::padded(n));
  Index j = 0;
  for (; j + 2 * kLanes<T> <= width; j += 2 * kLanes<T>)
    score_columns<2>(q, keys, heads.d_k, shared, j, scale, w);
  if (j < width) score_columns<1>(q, keys, heads.d_k, shared, j, scale, w);
  for (Index h = 0; h < n; ++h) hide_after(m, w.row(h), width);
  exponentiate_rows(w, width, factor);
  for (Index h = 0; h < n; ++h) scale_row(w.row(h), width, factor[h]);
  weighted_values(HeadContexts<T>{w, heads.d_v, shared, context}, values);
}

}  // namespace

template <class T>
void attend_query(const T* q, const QueryHeads& heads, const T* keys_transposed, Matrix<const T> values,
                  T scale, T* context) {
  const Matrix<const T> keys(keys_transposed, heads.n_kv_heads * heads.d_k, transposed_width(values.rows));
  attend_rows(q, heads, values.rows, PlainRows<T>{keys}, PlainRows<T>{values}, scale, context);
}

void attend_pairs(const float* q, const QueryHeads& heads, Index m, const float* pairs, float scale,
                  float* context) {
  const Matrix<const float> keys(pairs, heads.n_kv_heads * heads.d_k / 2, transposed_width(m)),
      values(pairs + keys.size(), (m + 1) / 2, heads.n_kv_heads * heads.d_v);
  attend_rows(q, heads, m, PairedRows{keys}, PairedRows{values}, scale, context);
}

void pair_keys_and_values(Matrix<const float> k, Matrix<const float> v, float* pairs) {
  const Index width = transposed_width(k.rows), d = k.cols / 2;
  auto both = [](float first, float second) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) >> 16 |
                                (std::bit_cast<std::uint32_t>(second) & 0xffff0000));
  };
  Scratch<float> scratch(k.rows * Scratch<float>::padded(d));
  const Matrix<float> keys = scratch.matrix(k.rows, d);
  for (Index j = 0; j < k.rows; ++j) {
    const float* key = k.row(j);
    for (Index i = 0; i < d; ++i) keys.row(j)[i] = both(key[2 * i], key[2 * i + 1]);
  }
  transpose<float>(keys, Matrix<float>(pairs, d, width, width));
  pairs += d * width;
  for (Index j = 0; j < v.rows; j += 2, pairs += v.cols) {
    const float* first = v.row(j);
    const float* second = j + 1 < v.rows ? v.row(j + 1) : nullptr;
    for (Index c = 0; c < v.cols; ++c) pairs[c] = both(first[c], second ? second[c] : 0);
  }
}

template <class T>
void attend_cached(const T* q, Matrix<const T> keys, Matrix<const T> values,
                   std::span<const std::int32_t> rows, Index n_heads, Index n_kv_heads, T scale, T* weights,
                   T* context, const RowEdit<T>* edit, const T* bias, Index bias_step, Index hidden) {
  const Index m = rows.size(), d_k = keys.cols / n_kv_heads, d_v = values.cols / n_kv_heads,
              shared = n_heads / n_kv_heads, width = Scratch<T>::padded(m);
  Scratch<T> scratch(n_heads * width + Scratch<T>::padded(n_heads));
  const Matrix<T> w = scratch.matrix(n_heads, m);
  T* const factor = scratch.array(Scratch<T>::padded(n_heads));
  if (d_k == 2 * kLanes<T>)
    score_rows<2>(q, keys, rows, d_k, shared, scale, w);
  else if (d_k == 4 * kLanes<T>)
    score_rows<4>(q, keys, rows, d_k, shared, scale, w);
  else
    score_rows<0>(q, keys, rows, d_k, shared, scale, w);
  for (Index h = 0; h < n_heads; ++h) {
    if (bias) add_row(bias + h * bias_step, m, w.row(h));
    edit_row(edit, &RowEdit<T>::scores, h, w.row(h), m);
    hide_first(hidden, w.row(h));
    hide_after(m, w.row(h), width);
  }
  exponentiate_rows(w, width, factor);
  for (Index h = 0; h < n_heads; ++h) {
    scale_row(w.row(h), width, factor[h]);
    edit_row(edit, &RowEdit<T>::weights, h, w.row(h), m);
    if (weights) copy_row(w.row(h), m, weights + h * m);
  }
  weighted_values(HeadContexts<T>{w, d_v, shared, context}, ListedRows<T>{values, rows});
}

template <class T>
void transposed_keys(Matrix<const T> k, T* y) {
  const Index width = transposed_width(k.rows);
  static_assert(16 % kLanes<T> == 0);
  transpose(k, Matrix<T>(y, k.cols, width, width));
}

HEED_TARGET_KERNEL(attend_forward)
HEED_TARGET_KERNEL(attend_backward)
HEED_TARGET_KERNEL(attend_query)
HEED_TARGET_KERNEL(attend_cached)
HEED_TARGET_KERNEL(transposed_keys)

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
HEED_KERNEL(void, attend_query,
            (const T* q, const QueryHeads& heads, const T* keys_transposed, Matrix<const T> values, T scale,
             T* context),
            (q, heads, keys_transposed, values, scale, context))
HEED_VERSIONS(attend_pairs)
HEED_VERSIONS(pair_keys_and_values)

void attend_pairs(const float* q, const QueryHeads& heads, std::int64_t m, const float* pairs, float scale,
                  float* context) {
  attend_pairs_versions.best()(q, heads, m, pairs, scale, context);
}

void pair_keys_and_values(Matrix<const float> k, Matrix<const float> v, float* pairs) {
  pair_keys_and_values_versions.best()(k, v, pairs);
}

HEED_KERNEL(void, attend_cached,
            (const T* q, Matrix<const T> keys, Matrix<const T> values, std::span<const std::int32_t> rows,
             std::int64_t n_heads, std::int64_t n_kv_heads, T scale, T* weights, T* context,
             const RowEdit<T>* edit, const T* bias, std::int64_t bias_step, std::int64_t hidden),
            (q, keys, values, rows, n_heads, n_kv_heads, scale, weights, context, edit, bias, bias_step,
             hidden))
HEED_KERNEL(void, transposed_keys, (Matrix<const T> k, T* y), (k, y))

}  // namespace heed
#endif
