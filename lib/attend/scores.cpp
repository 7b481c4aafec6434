#include "attend/scores.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

template <class T>
ScoreParameters<T>::ScoreParameters(const ScoreFunction& score, const AttendParameters& parameters,
                                    std::int64_t heads)
    : score_(score) {
  for (const ScoreParameter& p : score.parameters) {
    if (!p.optional && !parameters.has(p.name))
      fail(parameters.name, ": has no ", p.name, ", which --score ", score.name, " needs");
    weights_.emplace_back(parameters, p.name, p.shape.size(), heads);
  }
  for (const ScoreFunction& other : score_functions()) {
    for (const ScoreParameter& p : other.parameters) {
      const bool own = std::any_of(score.parameters.begin(), score.parameters.end(),
                                   [&](const auto& known) { return std::string(known.name) == p.name; });
      if (!own && parameters.has(p.name))
        fail<UsageError>("--score: ", score.name, " does not use ", parameters.name, p.name);
    }
  }
}

template <class T>
void ScoreParameters<T>::expect_widths(const std::string& query, std::int64_t d_q, const std::string& key,
                                       std::int64_t d_k, std::int64_t keys) const {
  const std::string q = concat(query, " with ", d_q, " columns a head"),
                    both = concat(q, " and ", key, " with ", d_k);
  const bool by_position = score_.knows_positions();
  if (!score_.query && !score_.key && !by_position && d_q != d_k) {
    fail(key, ": ", d_k, " columns a head, wanted d = ", d_q, " as in ", query,
         score_.projected ? ": query/weight and key/weight bring both to one width" : "");
  }
  ScoreSizes sizes{d_q, d_k, score_.projected ? d_q : -1, -1};
  const char* wide = nullptr;  // the parameter that settled the hidden width
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Weight<T>& weight = weights_[i];
    const ScoreParameter& p = score_.parameters[i];
    if (!weight) continue;
    auto has = [&](Size size) { return std::find(p.shape.begin(), p.shape.end(), size) != p.shape.end(); };
    weight.expect(p.shape_of(sizes), wide ? concat("as wide as ", wide) : "for " + (by_position ? q : both));
    if (has(Size::hidden) && sizes.hidden < 0) {
      sizes.hidden = weight.shape.back();
      wide = p.name;
    }
    if (has(Size::positions) && weight.shape.back() < keys) {
      fail(weight.name, ": has scores for ", weight.shape.back(), " positions, but ", key, " has ", keys,
           " rows");
    }
  }
}

template <class T>
Matrix<const T> ScoreParameters<T>::head(const char* name, std::int64_t head) const {
  for (std::size_t i = 0; name && i < weights_.size(); ++i) {
    if (std::string(score_.parameters[i].name) == name && weights_[i]) return weights_[i].head(head);
  }
  return {};
}

namespace {

template <class T>
Matrix<T> room(std::vector<T>& values, std::int64_t rows, std::int64_t cols) {
  values.resize(static_cast<std::size_t>(rows * cols));
  return {values.data(), rows, cols};
}

}  // namespace

template <class T>
HeadScores<T>::Side::Side(const ScoreParameters<T>& parameters, const ScoreMap& how, std::int64_t head,
                          Matrix<const T> rows, std::int64_t d_k)
    : given(rows) {
  if (how) {
    const Matrix<const T> w = parameters.head(how.weight, head);
    map = how.part == ScoreMap::Part::transposed
              ? w.t()
              : w.row_range(how.first(w.rows, d_k), how.count(w.rows, d_k));
    bias = parameters.head(how.bias, head);
    mapped = room(mapped_values, rows.rows, map.cols);
  }
  if (parameters.score().prepared_width)
    prepared =
        room(prepared_values, rows.rows, parameters.score().prepared_width(how ? map.cols : rows.cols));
}

template <class T>
void HeadScores<T>::Side::prepare(const ScoreFunction& score, RowRange range) {
  if (map.data) {
    const Matrix<T> to = mapped.row_range(range.first, range.count);
    gemm<T>(1, given.row_range(range.first, range.count), map, 0, to);
    if (bias.data) {
      bias_activation_dropout<T>({bias.data, static_cast<std::size_t>(bias.cols)}, Activation::none,
                                 Dropout{}, to);
    }
  }
  if (prepared.data) score.kernels<T>().prepare(rows(range).x, prepared.row_range(range.first, range.count));
}

template <class T>
HeadScores<T>::HeadScores(const ScoreParameters<T>& parameters, std::int64_t head, Matrix<const T> q,
                          Matrix<const T> k)
    : score_(&parameters.score()),
      q_(parameters, score_->query, head, q, k.cols),
      k_(parameters, score_->key, head, k, k.cols),
      weight_(parameters.head(score_->weight, head)) {}

template class ScoreParameters<float>;
template class ScoreParameters<double>;
template class HeadScores<float>;
template class HeadScores<double>;

}  // namespace heed
