#include "nn/attention/weights.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/instantiate.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

/// The score's precomputation for each row; lives as long as the pass.
template <class T>
Matrix<const T> prepared(const ScoreFunction& score, Var<T> x) {
  if (!score.prepared_width) return {};
  const Matrix<T> rows = x.tape().arena().template matrix<T>(x.rows(), score.prepared_width(x.cols()));
  score.kernels<T>().prepare(x.value(), rows);
  return rows;
}

/// Throws Error unless queries, keys and the parameter of the comparison fit together.
template <class T>
void expect_widths(const ScoreFunction& score, Var<T> q, Var<T> k, Var<T> weight, std::int64_t longest) {
  const bool by_position = score.knows_positions();
  bool fits = by_position || q.cols() == k.cols();
  for (const ScoreParameter& parameter : score.parameters) {
    if (!score.weight || parameter.name != std::string(score.weight)) continue;
    Shape wanted = parameter.shape_of({q.cols(), k.cols(), k.cols(), by_position ? weight.cols() : 0});
    if (wanted.size() == 1) wanted.insert(wanted.begin(), 1);
    fits = fits && Shape{weight.rows(), weight.cols()} == wanted && (!by_position || wanted[1] >= longest);
  }
  if (fits) return;
  fail(score.name, ": query width ", q.cols(), ", key width ", k.cols(),
       weight ? concat(" and ", score.weight, " [", weight.rows(), ", ", weight.cols(), "]") : "",
       " do not fit, with up to ", longest, " keys");
}

}  // namespace

template <class T>
ComparedKeys<T> compare_with(const ScoreFunction& score, Var<T> k) {
  return {k, prepared<T>(score, k)};
}

template <class T>
Var<T> attention_scores(const ScoreFunction& score, Var<T> q, const ComparedKeys<T>& keys, Var<T> weight,
                        const StepKeys& queries) {
  const Var<T> k = keys.k;
  expect_keys(score.name.c_str(), q, k, queries);
  expect_widths(score, q, k, weight, queries.keys->longest());
  Tape<T>& tape = q.tape();
  const StepKeys at = keep(tape, queries);
  const ScoreKernels<T>& kernels = score.kernels<T>();
  Var<T> y = new_scores(tape, at);
  const Matrix<T> out = tape.mutable_value(y);
  const Matrix<const T> prepared_q = prepared<T>(score, q), prepared_k = keys.prepared;
  auto block = [=](std::int64_t i, const StepKeys::Seen& seen) {
    return ScoreBlock<T>{ScoreSide<T>{q.value(), prepared_q}.row_range(i, 1),
                         ScoreSide<T>{k.value(), prepared_k}.row_range(seen.row, seen.count),
                         weight ? weight.value() : Matrix<const T>(), seen.column};
  };
  each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
    kernels.forward(block(i, seen), seen.columns_of(out.row_range(i, 1)));
  });
  tape.on_backward(y, [=, &tape, &kernels] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_q = tape.gradient(q), d_k = tape.gradient(k),
                    d_weight = weight ? tape.gradient(weight) : Matrix<T>();
    each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
      kernels.backward(block(i, seen), seen.columns_of(d_y.row_range(i, 1)),
                       {d_q.row_range(i, 1), seen.rows_of(d_k), d_weight});
    });
  });
  return y;
}

template <class T>
Var<T> softmax(Var<T> scores) {
  Tape<T>& tape = scores.tape();
  Var<T> y = tape.result(scores.rows(), scores.cols());
  const Matrix<T> out = tape.mutable_value(y);
  copy_rows(scores.value(), out);
  softmax_rows<T>(out);
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> alpha = y.value(), d_y = tape.gradient(y);
    const Matrix<T> d_scores = tape.gradient(scores);
    for (std::int64_t i = 0; i < alpha.rows; ++i) {
      T mean = 0;
      for (std::int64_t j = 0; j < alpha.cols; ++j) mean += alpha(i, j) * d_y(i, j);
      for (std::int64_t j = 0; j < alpha.cols; ++j) d_scores(i, j) += alpha(i, j) * (d_y(i, j) - mean);
    }
  });
  return y;
}

template <class T>
Var<T> weighted_sum(Var<T> alpha, Var<T> m, const StepKeys& queries) {
  expect_keys("weighted_sum", alpha, m, queries);
  Tape<T>& tape = m.tape();
  const StepKeys at = keep(tape, queries);
  Var<T> y = tape.result(alpha.rows(), m.cols());
  const Matrix<T> out = tape.mutable_value(y);
  std::fill_n(out.data, out.size(), T{0});  // a query may have no key
  each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
    multiply_rows<T>(seen.columns_of(alpha.value().row_range(i, 1)), seen.rows_of(m.value()), false,
                     out.row_range(i, 1));
  });
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_alpha = tape.gradient(alpha), d_m = tape.gradient(m);
    each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
      weighted_sum_backward<T>(row_span(seen.columns_of(alpha.value()), i), seen.rows_of(m.value()),
                               row_span(d_y, i), row_span(seen.columns_of(d_alpha), i), seen.rows_of(d_m));
    });
  });
  return y;
}

template <class T>
Var<T> sentence_means(Var<T> m, const Packing& rows) {
  const Matrix<T> shares = m.tape().arena().template matrix<T>(rows.sentences(), rows.longest());
  for (std::int64_t s = 0; s < rows.sentences(); ++s)
    std::fill_n(shares.row(s), rows.longest(), T{1} / static_cast<T>(rows.length(s)));
  std::vector<std::int64_t> sentences(static_cast<std::size_t>(rows.sentences()));
  std::iota(sentences.begin(), sentences.end(), 0);
  return weighted_sum(m.tape().constant(shares), m, StepKeys{sentences, &rows});
}

HEED_INSTANTIATE(compare_with)
HEED_INSTANTIATE(attention_scores)
HEED_INSTANTIATE(softmax)
HEED_INSTANTIATE(weighted_sum)
HEED_INSTANTIATE(sentence_means)

}  // namespace heed
