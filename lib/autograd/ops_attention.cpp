#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"

namespace heed {

namespace {

/// The number of weights of all sentences and heads, or only of those that the backward pass needs.
std::int64_t block_elements(const Packing& queries, const Packing& keys, std::int64_t n_heads,
                            bool for_backward) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < queries.sentences(); ++i) {
    const std::int64_t n = queries.length(i), m = keys.length(i);
    if (!for_backward || attention_keeps_weights(n, m)) count += n_heads * n * m;
  }
  return count;
}

/// Up to so many queries of a sentence are computed one by one, each with all its heads; for more, tiles of rows are faster.
/// Both ways give the same bits, so it does not matter which sentences are computed together.
constexpr std::int64_t kFewQueries = 16;

/// One sentence's head.
struct HeadPlace {
  std::int64_t sentence, head;
  std::int64_t offset;               ///< of its weights when those of all heads are stored
  std::optional<std::int64_t> kept;  ///< where the backward pass finds its weights; none: it needs none
  Dropout drop;
};

/// The biases of all heads, each a function of the key's position minus the query's; or none.
template <class T>
class Biases {
 public:
  Biases() = default;
  /// bias [2 reach + 1, n_heads], column by column.
  Biases(Arena& arena, Matrix<const T> bias) : distances_(bias.rows) {
    values_ = arena.allocate<T>(bias.rows * bias.cols);
    for (std::int64_t h = 0; h < bias.cols; ++h)
      for (std::int64_t r = 0; r < bias.rows; ++r) values_[h * bias.rows + r] = bias(r, h);
  }
  /// The bias of a key at its query's position, with the others around it; null: there are none.
  T* zero(std::int64_t head) const { return values_ ? values_ + head * distances_ + reach() : nullptr; }
  std::int64_t reach() const { return distances_ / 2; }
  /// The distance from one head to the next.
  std::int64_t step() const { return distances_; }
  /// to(r, h) += what was summed up here.
  void add_to(Matrix<T> to) const {
    for (std::int64_t h = 0; h < to.cols; ++h)
      for (std::int64_t r = 0; r < to.rows; ++r) to(r, h) += values_[h * to.rows + r];
  }

 private:
  T* values_ = nullptr;
  std::int64_t distances_ = 0;
};

template <class T>
void expect_bias(Var<T> bias, const AttentionOptions& options, std::int64_t longest) {
  if (bias && (bias.cols() != options.n_heads || bias.rows() < 2 * longest - 1 || bias.rows() % 2 == 0)) {
    fail("attention: bias [", bias.rows(), ", ", bias.cols(), "] does not fit ", options.n_heads,
         " heads and ", longest, " positions");
  }
}

/// Calls visit(HeadPlace, rows and columns of q, k, v and the context) for every sentence and head.
template <class T, class Visit>
void each_head(const Packing& queries, const Packing& keys, const AttentionOptions& o, std::int64_t d_k,
               std::int64_t d_v, Visit&& visit) {
  std::int64_t offset = 0, kept = 0, number = 0;
  for (std::int64_t i = 0; i < queries.sentences(); ++i) {
    const std::int64_t n = queries.length(i), m = keys.length(i);
    const bool keeps = attention_keeps_weights(n, m);
    for (std::int64_t h = 0; h < o.n_heads; ++h, offset += n * m, kept += keeps ? n * m : 0) {
      auto queries_of = [&](auto x, std::int64_t d) {
        return x.row_range(queries.offset(i), n).columns(h * d, d);
      };
      const std::int64_t kv = h / (o.n_heads / o.key_heads());
      auto keys_of = [&](auto x, std::int64_t d) {
        return x.row_range(keys.offset(i), m).columns(kv * d, d);
      };
      Dropout drop = o.drop;
      drop.seed +=
          static_cast<std::uint64_t>(++number) * 0x9E3779B97F4A7C15ull;  // every head draws its own numbers
      visit(
          HeadPlace{i, h, offset, keeps ? std::optional(kept) : std::nullopt, drop},
          [&](auto q) { return queries_of(q, d_k); }, [&](auto k) { return keys_of(k, d_k); },
          [&](auto v) { return keys_of(v, d_v); }, [&](auto c) { return queries_of(c, d_v); });
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
  return {bind(edit.scores), bind(edit.weights)};  // the bias is edited before it reaches the kernel
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
                             const AttentionOptions& options, const AttentionEdit<T>* edit, Var<T> bias,
                             const KeysAhead<T>& ahead) {
  const std::int64_t kv_heads = options.key_heads(), d_k = q.cols() / options.n_heads,
                     d_v = v.cols() / kv_heads;
  if (options.n_heads % kv_heads || q.cols() != d_k * options.n_heads || k.cols() != d_k * kv_heads ||
      v.cols() != d_v * kv_heads) {
    fail("attention: query width ", q.cols(), ", key width ", k.cols(), " and value width ", v.cols(),
         " must fit ", options.n_heads, " heads, and ", kv_heads,
         " of keys and values, with queries as wide as keys in each head");
  }
  if (queries.sentences() != keys.sentences() || queries.rows() != q.rows() || keys.rows() != k.rows() ||
      k.rows() != v.rows()) {
    fail("attention: ", q.rows(), " query rows of ", queries.sentences(), " sentences do not fit ", k.rows(),
         " key rows of ", keys.sentences(), " sentences");
  }
  Tape<T>& tape = q.tape();
  const std::int64_t count = block_elements(queries, keys, options.n_heads, false);
  auto blocks = [&](bool wanted, std::int64_t size) {
    return wanted ? tape.arena().template allocate<T>(size) : nullptr;
  };
  T* const weights = blocks(options.keep_weights, count);
  T* const scores = blocks(options.keep_scores, count);
  T* const for_backward =
      blocks(!weights && tape.with_gradients(), block_elements(queries, keys, options.n_heads, true));
  auto weights_of = [=](const HeadPlace& at) -> T* {
    if (weights) return weights + at.offset;
    return for_backward && at.kept ? for_backward + *at.kept : nullptr;
  };
  expect_bias(bias, options, std::max(queries.longest(), keys.longest()));
  const Biases<T> biases = bias ? Biases<T>(tape.arena(), bias.value()) : Biases<T>();
  // To be kept or edited, it is laid out as scores are.
  T* const bias_blocks = blocks(bias && (options.keep_bias || (edit && edit->bias)), count);

  Var<T> y = tape.result(q.rows(), options.n_heads * d_v);
  Matrix<T> context = tape.mutable_value(y);
  auto head_of = [=](const HeadPlace& at, Matrix<const T> q_h, Matrix<const T> k_h, Matrix<const T> v_h) {
    AttentionHead<T> head;
    if (const T* zero = biases.zero(at.head)) {
      head.bias = zero - (k_h.rows - q_h.rows);
      head.bias_step = -1;
    }
    head.window = options.window;
    head.q = q_h;
    head.k = k_h;
    head.v = v_h;
    head.scale = static_cast<T>(options.scale);
    head.causal = options.causal;
    head.drop = at.drop;
    return head;
  };
  const std::int64_t shared = options.n_heads / kv_heads;
  const T* transposed = ahead.transposed ? ahead.transposed.value().data : nullptr;  // of the sentence
  // A step of a search: a sentence's queries are its hypotheses.
  if ((ahead.pairs || (ahead.transposed && queries.longest() <= kFewQueries)) && !weights && !scores &&
      !edit && !bias && attention_keeps_weights(queries.longest(), keys.longest()) &&
      !tape.with_gradients() && !options.causal && options.window == 0 && !options.drop.active()) {
    const QueryHeads heads{options.n_heads, kv_heads, d_k, d_v};
    const auto scale = static_cast<T>(options.scale);
    const T* pairs = ahead.pairs ? ahead.pairs.value().data : nullptr;
    for (std::int64_t s = 0; s < queries.sentences(); ++s) {
      const std::int64_t m = keys.length(s);
      for (std::int64_t i = queries.offset(s); i < queries.offset(s + 1); ++i) {
        const T* query = q.value().row(i);
        if constexpr (std::is_same_v<T, float>) {
          if (pairs) {
            attend_pairs(query, heads, m, pairs, scale, context.row(i));
            continue;
          }
        }
        attend_query<T>(query, heads, transposed, v.value().row_range(keys.offset(s), m), scale,
                        context.row(i));
      }
      if (pairs)
        pairs += paired_size(m, k.cols(), v.cols());
      else
        transposed += k.cols() * transposed_width(m);
    }
    return {tape.without_backward(y), {}, {}, {}};
  }
  each_head<T>(queries, keys, options, d_k, d_v,
               [&](const HeadPlace& at, auto of_q, auto of_k, auto of_v, auto of_c) {
                 auto head = head_of(at, of_q(q.value()), of_k(k.value()), of_v(v.value()));
                 if (transposed) {
                   const std::int64_t size = d_k * transposed_width(head.k.rows);
                   head.k_transposed = transposed + at.head / shared * size;
                   if (at.head + 1 == options.n_heads) transposed += kv_heads * size;
                 }
                 const std::int64_t first = queries.offset(at.sentence);
                 const RowEdit<T> rows = edit ? rows_of(*edit, at.head, first) : RowEdit<T>{};
                 if (bias_blocks) {
                   const Matrix<T> block(bias_blocks + at.offset, head.q.rows, head.k.rows);
                   for (std::int64_t i = 0; i < block.rows; ++i) {
                     std::copy_n(head.bias + i * head.bias_step, block.cols, block.row(i));
                     if (edit && edit->bias) edit->bias(first + i, at.head, row_span(block, i));
                   }
                   head.bias = block.data;
                   head.bias_step = block.cols;
                 }
                 attend_forward<T>(head, scores ? scores + at.offset : nullptr, weights_of(at), of_c(context),
                                   edit ? &rows : nullptr);
               });
  tape.on_backward(y, [=, &tape, &queries, &keys] {
    Matrix<const T> d_context = tape.gradient(y);
    Matrix<T> d_q = tape.gradient(q), d_k_all = tape.gradient(k), d_v_all = tape.gradient(v);
    const bool bias_learns = tape.wants_gradient(bias);
    Biases<T> d_biases;
    if (bias_learns) {
      const Matrix<T> zeros = tape.arena().template matrix<T>(bias.rows(), bias.cols());
      std::fill_n(zeros.data, zeros.size(), T{0});
      d_biases = Biases<T>(tape.arena(), zeros);
    }
    each_head<T>(queries, keys, options, d_k, d_v,
                 [&](const HeadPlace& at, auto of_q, auto of_k, auto of_v, auto of_c) {
                   const auto head = head_of(at, of_q(q.value()), of_k(k.value()), of_v(v.value()));
                   T* d_bias = bias_learns ? d_biases.zero(at.head) - (head.k.rows - head.q.rows) : nullptr;
                   attend_backward<T>(head, weights_of(at), of_c(d_context), of_q(d_q), of_k(d_k_all),
                                      of_v(d_v_all), d_bias);
                 });
    if (bias_learns) d_biases.add_to(tape.gradient(bias));
  });
  const auto size = static_cast<std::size_t>(count);
  auto kept = [size](const T* blocks) {
    return blocks ? std::span<const T>(blocks, size) : std::span<const T>();
  };
  return {y, kept(weights), kept(scores), kept(bias_blocks)};
}

template <class T>
KeysAhead<T> keys_ahead(Var<T> k, const Packing& keys) {
  std::int64_t width = 0;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) width += transposed_width(keys.length(s));
  Tape<T>& tape = k.tape();
  const Var<T> y = tape.result(width, k.cols());
  T* to = tape.mutable_value(y).data;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) {
    transposed_keys<T>(k.value().row_range(keys.offset(s), keys.length(s)), to);
    to += k.cols() * transposed_width(keys.length(s));
  }
  return {tape.without_backward(y), {}};
}

KeysAhead<float> keys_ahead_in_pairs(Var<float> k, Var<float> v, const Packing& keys) {
  std::int64_t size = 0;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) size += paired_size(keys.length(s), k.cols(), v.cols());
  Tape<float>& tape = k.tape();
  const Var<float> y = tape.result(1, size);
  float* to = tape.mutable_value(y).data;
  for (std::int64_t s = 0; s < keys.sentences(); ++s) {
    const std::int64_t first = keys.offset(s), m = keys.length(s);
    pair_keys_and_values(k.value().row_range(first, m), v.value().row_range(first, m), to);
    to += paired_size(m, k.cols(), v.cols());
  }
  return {{}, tape.without_backward(y)};
}

void round_to_bfloat16(Var<float> x) {
  Tape<float>& tape = x.tape();
  const Matrix<float> value = tape.mutable_value(x);
  for (std::int64_t i = 0; i < x.rows(); ++i) round_to_bfloat16(row_span(x.value(), i), row_span(value, i));
  tape.without_backward(x);
}

template <class T>
Var<T> attention_over_past(Var<T> q, const Packing& rows, const Past<T>& past,
                           const AttentionOptions& options, const AttentionEdit<T>* edit, Var<T> bias) {
  Tape<T>& tape = q.tape();
  if (tape.with_gradients()) fail("attention over a past has no gradient");
  const Matrix<const T> keys = past.cache->keys(), values = past.cache->values();
  const Biases<T> biases = bias ? Biases<T>(tape.arena(), bias.value()) : Biases<T>();
  Var<T> y = tape.result(q.rows(), q.cols());
  const Matrix<T> context = tape.mutable_value(y);
  std::vector<T> edited_bias;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = rows.offset(s); i < rows.offset(s + 1); ++i) {
      std::span<const std::int32_t> seen = past.seen_by(s, rows.offset(s + 1) - 1 - i);
      expect_bias(bias, options, std::ssize(seen));
      // An edit sees the scores of all keys, as it does where nothing is cached.
      std::size_t hidden = 0;
      if (options.window > 0)
        hidden = seen.size() - std::min(seen.size(), static_cast<std::size_t>(options.window));
      if (!edit) seen = seen.subspan(std::exchange(hidden, 0));
      const RowEdit<T> edited = edit ? heads_of(*edit, i) : RowEdit<T>{};
      const std::int64_t m = std::ssize(seen);
      const T* bias_rows = bias ? biases.zero(0) - (m - 1) : nullptr;
      std::int64_t bias_step = biases.step();
      if (bias && edit && edit->bias) {
        edited_bias.resize(static_cast<std::size_t>(options.n_heads * m));
        const Matrix<T> block(edited_bias.data(), options.n_heads, m);
        for (std::int64_t h = 0; h < options.n_heads; ++h) {
          std::copy_n(bias_rows + h * bias_step, m, block.row(h));
          edit->bias(i, h, row_span(block, h));
        }
        bias_rows = block.data;
        bias_step = m;
      }
      attend_cached<T>(q.value().row(i), keys, values, seen, options.n_heads, options.key_heads(),
                       static_cast<T>(options.scale), nullptr, context.row(i), edit ? &edited : nullptr,
                       bias_rows, bias_step, static_cast<std::int64_t>(hidden));
    }
  }
  return tape.without_backward(y);
}

HEED_INSTANTIATE(attention)
HEED_INSTANTIATE(attention_over_past)
HEED_INSTANTIATE(keys_ahead)

}  // namespace heed
