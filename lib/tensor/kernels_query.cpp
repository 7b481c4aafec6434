// Attention of one query with all its heads, as in a step of a search: over transposed keys, over keys and values in pairs, or
// over rows of a cache. Scaled dot-product attention: Vaswani et al. 2017, eq. 1.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_query.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_attention.h"
#include "tensor/simd_product.h"

#include <bit>

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
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
  if (y.d == 8 * kLanes<T>) return context_tiles<1, 8>(y, values);
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
  else if (d_k == 8 * kLanes<T>)
    score_rows<8>(q, keys, rows, d_k, shared, scale, w);
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

HEED_TARGET_KERNEL(attend_query)
HEED_TARGET_KERNEL(attend_cached)
HEED_TARGET_KERNEL(transposed_keys)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

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
