#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"

namespace heed {

namespace {

/// Number of weights of all sentences and heads.
std::int64_t block_elements(const Packing& queries, const Packing& keys, std::int64_t n_heads) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < queries.sentences(); ++i)
    count += n_heads * queries.length(i) * keys.length(i);
  return count;
}

/// One sentence's head.
struct HeadPlace {
  std::int64_t sentence, head;
  std::int64_t offset;  ///< of its weights
  Dropout drop;
};

/// Calls visit(HeadPlace, rows and columns of q, k, v and the context) for every sentence and head.
template <class T, class Visit>
void each_head(const Packing& queries, const Packing& keys, const AttentionOptions& o, std::int64_t d_k,
               std::int64_t d_v, Visit&& visit) {
  std::int64_t offset = 0, number = 0;
  for (std::int64_t i = 0; i < queries.sentences(); ++i) {
    const std::int64_t n = queries.length(i), m = keys.length(i);
    for (std::int64_t h = 0; h < o.n_heads; ++h, offset += n * m) {
      auto queries_of = [&](auto x, std::int64_t d) {
        return x.row_range(queries.offset(i), n).columns(h * d, d);
      };
      auto keys_of = [&](auto x, std::int64_t d) { return x.row_range(keys.offset(i), m).columns(h * d, d); };
      Dropout drop = o.drop;
      drop.seed +=
          static_cast<std::uint64_t>(++number) * 0x9E3779B97F4A7C15ull;  // every head draws its own numbers
      visit(
          HeadPlace{i, h, offset, drop}, [&](auto q) { return queries_of(q, d_k); },
          [&](auto k) { return keys_of(k, d_k); }, [&](auto v) { return keys_of(v, d_v); },
          [&](auto c) { return queries_of(c, d_v); });
    }
  }
}

/// The edit of one head, for queries that are the rows from `first` on.
template <class T>
RowEdit<T> rows_of(const AttentionEdit<T>& edit, std::int64_t head, std::int64_t first) {
  auto bind =
      [&](const typename AttentionEdit<T>::Row& row) -> std::function<void(std::int64_t, std::span<T>)> {
    if (!row) return {};
    return [&row, head, first](std::int64_t query, std::span<T> values) { row(first + query, head, values); };
  };
  return {bind(edit.scores), bind(edit.weights)};
}

/// The edit of all heads of one query.
template <class T>
RowEdit<T> heads_of(const AttentionEdit<T>& edit, std::int64_t query) {
  auto bind =
      [&](const typename AttentionEdit<T>::Row& row) -> std::function<void(std::int64_t, std::span<T>)> {
    if (!row) return {};
    return [&row, query](std::int64_t head, std::span<T> values) { row(query, head, values); };
  };
  return {bind(edit.scores), bind(edit.weights)};
}

}  // namespace

template <class T>
AttentionResult<T> attention(Var<T> q, Var<T> k, Var<T> v, const Packing& queries, const Packing& keys,
                             const AttentionOptions& options, const AttentionEdit<T>* edit,
                             Var<T> k_transposed) {
  const std::int64_t d_k = q.cols() / options.n_heads, d_v = v.cols() / options.n_heads;
  if (q.cols() != k.cols() || q.cols() != d_k * options.n_heads || v.cols() != d_v * options.n_heads) {
    fail("attention: query width ", q.cols(), ", key width ", k.cols(), " and value width ", v.cols(),
         " must fit ", options.n_heads, " heads, with equal query and key widths");
  }
  if (queries.sentences() != keys.sentences() || queries.rows() != q.rows() || keys.rows() != k.rows() ||
      k.rows() != v.rows()) {
    fail("attention: ", q.rows(), " query rows of ", queries.sentences(), " sentences do not fit ", k.rows(),
         " key rows of ", keys.sentences(), " sentences");
  }
  Tape<T>& tape = q.tape();
  const std::int64_t count = block_elements(queries, keys, options.n_heads);
  T* weights = tape.arena().template allocate<T>(count);
  T* scores = options.keep_scores ? tape.arena().template allocate<T>(count) : nullptr;

  Var<T> y = tape.result(q.rows(), v.cols());
  Matrix<T> context = tape.mutable_value(y);
  auto head_of = [=](const Dropout& drop, Matrix<const T> q_h, Matrix<const T> k_h, Matrix<const T> v_h) {
    AttentionHead<T> head;
    head.q = q_h;
    head.k = k_h;
    head.v = v_h;
    head.scale = static_cast<T>(options.scale);
    head.causal = options.causal;
    head.drop = drop;
    return head;
  };
  const T* transposed = k_transposed ? k_transposed.value().data : nullptr;  // of the next head
  each_head<T>(
      queries, keys, options, d_k, d_v, [&](const HeadPlace& at, auto of_q, auto of_k, auto of_v, auto of_c) {
        auto head = head_of(at.drop, of_q(q.value()), of_k(k.value()), of_v(v.value()));
        head.k_transposed = transposed;
        if (transposed) transposed += d_k * transposed_width(head.k.rows);
        const RowEdit<T> rows = edit ? rows_of(*edit, at.head, queries.offset(at.sentence)) : RowEdit<T>{};
        attend_forward<T>(head, scores ? scores + at.offset : nullptr, weights + at.offset, of_c(context),
                          edit ? &rows : nullptr);
      });
  tape.on_backward(y, [=, &tape, &queries, &keys] {
    Matrix<const T> d_context = tape.gradient(y);
    Matrix<T> d_q = tape.gradient(q), d_k_all = tape.gradient(k), d_v_all = tape.gradient(v);
    each_head<T>(queries, keys, options, d_k, d_v,
                 [&](const HeadPlace& at, auto of_q, auto of_k, auto of_v, auto of_c) {
                   attend_backward<T>(head_of(at.drop, of_q(q.value()), of_k(k.value()), of_v(v.value())),
                                      weights + at.offset, of_c(d_context), of_q(d_q), of_k(d_k_all),
                                      of_v(d_v_all));
                 });
  });
  const auto size = static_cast<std::size_t>(count);
  return {y, {weights, size}, scores ? std::span<const T>(scores, size) : std::span<const T>()};
}

template <class T>
Var<T> transposed_keys(Var<T> k, const Packing& keys) {
  std::int64_t width = 0;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) width += transposed_width(keys.length(s));
  Tape<T>& tape = k.tape();
  const Var<T> y = tape.result(width, k.cols());
  T* to = tape.mutable_value(y).data;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) {
    transposed_keys<T>(k.value().row_range(keys.offset(s), keys.length(s)), to);
    to += k.cols() * transposed_width(keys.length(s));
  }
  return y;
}

template <class T>
Var<T> attention_over_past(Var<T> q, const Packing& rows, const Past<T>& past,
                           const AttentionOptions& options, const AttentionEdit<T>* edit) {
  Tape<T>& tape = q.tape();
  if (tape.with_gradients()) fail("attention over a past has no gradient");
  const Matrix<const T> keys = past.cache->keys(), values = past.cache->values();
  Var<T> y = tape.result(q.rows(), q.cols());
  const Matrix<T> context = tape.mutable_value(y);
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = rows.offset(s); i < rows.offset(s + 1); ++i) {
      const std::span<const std::int32_t> seen = past.seen_by(s, rows.offset(s + 1) - 1 - i);
      const RowEdit<T> edited = edit ? heads_of(*edit, i) : RowEdit<T>{};
      attend_cached<T>(q.value().row(i), keys, values, seen, options.n_heads, static_cast<T>(options.scale),
                       nullptr, context.row(i), edit ? &edited : nullptr);
    }
  }
  return y;
}

HEED_INSTANTIATE(attention)
HEED_INSTANTIATE(attention_over_past)
template Var<float> transposed_keys(Var<float>, const Packing&);
template Var<double> transposed_keys(Var<double>, const Packing&);

}  // namespace heed
