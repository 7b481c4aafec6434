#include "attend/scores.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/kernels_scores.h"

namespace heed {

namespace {

bool has_network(ScoreFunction score) {
  return score == ScoreFunction::additive || score == ScoreFunction::concat;
}

template <class T>
std::vector<T> room(bool needed, std::int64_t rows, std::int64_t cols) {
  return std::vector<T>(needed ? static_cast<std::size_t>(rows * cols) : 0);
}

/// The score function, when the parameters are those it needs; before anybody looks at their shapes.
ScoreFunction served(ScoreFunction kind, const AttendParameters& parameters) {
  const std::string& name = score_function_names()[static_cast<std::size_t>(kind)];
  for (const NamedShape& needed : score_parameters(kind, {})) {
    if (!parameters.has(needed.name)) {
      fail(parameters.name, ": has no ", needed.name, ", which --score ", name, " needs");
    }
  }
  const bool plain = kind == ScoreFunction::dot || kind == ScoreFunction::scaled_dot;
  const std::pair<const char*, bool> parts[] = {{"score/weight", !plain},
                                                {"concat/weight", kind == ScoreFunction::concat}};
  for (const auto& [path, has_part] : parts) {
    if (!has_part && parameters.has(path))
      fail<UsageError>("--score: ", name, " has no part for ", parameters.name, path, " to play");
  }
  return kind;
}

}  // namespace

template <class T>
ScoreParameters<T>::ScoreParameters(ScoreFunction kind, const AttendParameters& parameters,
                                    std::int64_t heads)
    : score(served(kind, parameters)),
      weight(parameters, "score/weight", has_network(kind) ? 1 : 2, heads),
      concat(parameters, "concat/weight", 2, heads),
      concat_bias(parameters, "concat/bias", 1, heads) {}

template <class T>
void ScoreParameters<T>::expect_widths(const std::string& query, std::int64_t d_q, const std::string& key,
                                       std::int64_t d_k, std::int64_t keys) const {
  const std::string q = heed::concat(query, " with ", d_q, " columns a head"),
                    both = heed::concat(q, " and ", key, " with ", d_k);
  auto expect_equal = [&](const char* hint) {
    if (d_q != d_k) fail(key, ": ", d_k, " columns a head, wanted d = ", d_q, " as in ", query, hint);
  };
  switch (score) {
    case ScoreFunction::dot:
    case ScoreFunction::scaled_dot:
      return expect_equal("");
    case ScoreFunction::general:
      return weight.expect({d_q, d_k}, "for " + both);
    case ScoreFunction::additive:
      expect_equal(": query/weight and key/weight bring both to one width");
      return weight.expect({d_q}, "for " + both);
    case ScoreFunction::concat:
      concat.expect({d_q + d_k, -1}, "for " + both);
      if (concat_bias) concat_bias.expect({concat.shape.back()}, "as wide as concat/weight");
      return weight.expect({concat.shape.back()}, "as wide as concat/weight");
    case ScoreFunction::location:
      weight.expect({d_q, -1}, "for " + q);
      if (weight.shape.back() < keys) {
        fail(weight.name, ": has scores for ", weight.shape.back(), " positions, but ", key, " has ", keys,
             " rows");
      }
      return;
  }
}

template <class T>
HeadScores<T>::HeadScores(const ScoreParameters<T>& parameters, std::int64_t head, Matrix<const T> q,
                          Matrix<const T> k)
    : parameters_(parameters), head_(head), q_(q), k_(k) {
  const ScoreFunction score = parameters.score;
  const bool concat = score == ScoreFunction::concat, network = has_network(score);
  const std::int64_t a = concat ? parameters.concat.shape.back() : q.cols;
  q_projected_ = room<T>(concat || score == ScoreFunction::general, q.rows, concat ? a : k.cols);
  k_projected_ = room<T>(concat, k.rows, a);
  q_factors_ = room<T>(network, q.rows, a);
  k_factors_ = room<T>(network, k.rows, a);
}

namespace {

/// The rows of a [rows of `like`, cols] matrix in a vector.
template <class T>
Matrix<T> rows_of(std::vector<T>& values, Matrix<const T> like, RowRange rows) {
  const std::int64_t cols = static_cast<std::int64_t>(values.size()) / like.rows;
  return Matrix<T>(values.data(), like.rows, cols).row_range(rows.first, rows.count);
}
template <class T>
Matrix<const T> rows_of(const std::vector<T>& values, Matrix<const T> like, RowRange rows) {
  const std::int64_t cols = static_cast<std::int64_t>(values.size()) / like.rows;
  return Matrix<const T>(values.data(), like.rows, cols).row_range(rows.first, rows.count);
}

/// One side's rows of the additive score: projected, if there is a projection, or as they are.
template <class T>
AdditiveSide<T> side(const std::vector<T>& projected, const std::vector<T>& factors, Matrix<const T> x,
                     RowRange rows) {
  return {projected.empty() ? x.row_range(rows.first, rows.count) : rows_of(projected, x, rows),
          rows_of(factors, x, rows)};
}

}  // namespace

template <class T>
void HeadScores<T>::prepare_queries(RowRange rows) {
  if (!q_projected_.empty()) {
    const bool concat = parameters_.score == ScoreFunction::concat;
    const Matrix<const T> w =
        (concat ? parameters_.concat : parameters_.weight).head(head_).row_range(0, q_.cols);
    const Matrix<T> to = rows_of(q_projected_, q_, rows);
    gemm<T>(1, q_.row_range(rows.first, rows.count), w, 0, to);
    if (parameters_.concat_bias) {
      const Matrix<const T> b = parameters_.concat_bias.head(head_);
      bias_activation_dropout<T>({b.data, static_cast<std::size_t>(b.cols)}, Activation::none, Dropout{}, to);
    }
  }
  if (!q_factors_.empty()) {
    additive_factors<T>(side(q_projected_, q_factors_, q_, rows).x, rows_of(q_factors_, q_, rows));
  }
}

template <class T>
void HeadScores<T>::prepare_keys(RowRange rows) {
  if (!k_projected_.empty()) {
    const Matrix<const T> w = parameters_.concat.head(head_).row_range(q_.cols, k_.cols);
    gemm<T>(1, k_.row_range(rows.first, rows.count), w, 0, rows_of(k_projected_, k_, rows));
  }
  if (!k_factors_.empty()) {
    additive_factors<T>(side(k_projected_, k_factors_, k_, rows).x, rows_of(k_factors_, k_, rows));
  }
}

template <class T>
void HeadScores<T>::compute(RowRange queries, RowRange keys, Matrix<T> e) const {
  const Matrix<const T> q = q_.row_range(queries.first, queries.count),
                        k = k_.row_range(keys.first, keys.count);
  switch (parameters_.score) {
    case ScoreFunction::dot:
    case ScoreFunction::scaled_dot:
      return gemm<T>(1, q, k.t(), 0, e);
    case ScoreFunction::general:
      return gemm<T>(1, rows_of(q_projected_, q_, queries), k.t(), 0, e);
    case ScoreFunction::location:
      return gemm<T>(1, q, parameters_.weight.head(head_).columns(keys.first, keys.count), 0, e);
    case ScoreFunction::additive:
    case ScoreFunction::concat: {
      const Matrix<const T> v = parameters_.weight.head(head_);
      return additive_scores<T>(side(q_projected_, q_factors_, q_, queries),
                                side(k_projected_, k_factors_, k_, keys),
                                {v.data, static_cast<std::size_t>(v.cols)}, e);
    }
  }
}

template struct ScoreParameters<float>;
template struct ScoreParameters<double>;
template class HeadScores<float>;
template class HeadScores<double>;

}  // namespace heed
