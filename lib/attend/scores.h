// The score functions (nn/attention/score_function.h) over the queries and keys of one sentence and head.
#pragma once

#include <string>
#include <vector>

#include "attend/parameters.h"

namespace heed {

/// Some rows of a matrix.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// The parameters of a score function.
template <class T>
class ScoreParameters {
 public:
  /// Throws Error if one is missing, UsageError if there is one that the score does not use.
  ScoreParameters(const ScoreFunction& score, const AttendParameters& parameters, std::int64_t heads)
      : score_(score) {
    for (const ScoreParameter& p : score.parameters) {
      if (!p.optional && !parameters.has(p.name))
        fail(parameters.name, ": has no ", p.name, ", which --score ", score.name, " needs");
      weights_.emplace_back(parameters, p.name, p.shape.size(), heads);
    }
    for (const ScoreFunction& other : score_functions()) {
      for (const ScoreParameter& p : other.parameters) {
        const bool own = std::ranges::any_of(
            score.parameters, [&](const auto& known) { return std::string(known.name) == p.name; });
        if (!own && parameters.has(p.name))
          fail<UsageError>("--score: ", score.name, " does not use ", parameters.name, p.name);
      }
    }
  }

  const ScoreFunction& score() const { return score_; }

  /// Throws Error unless the widths of one head fit the parameters; `query` and `key` are their names in
  /// messages.
  void expect_widths(const std::string& query, std::int64_t d_q, const std::string& key, std::int64_t d_k,
                     std::int64_t keys) const {
    const std::string q = concat(query, " with ", d_q, " columns a head"),
                      both = concat(q, " and ", key, " with ", d_k);
    const bool by_position = score_.knows_positions();
    if (!score_.query && !score_.key && !by_position && d_q != d_k) {
      fail(key, ": ", d_k, " columns a head, wanted d = ", d_q, " as in ", query,
           score_.projected ? ": query/weight and key/weight bring both to one width" : "");
    }
    ScoreSizes sizes{d_q, d_k, score_.projected ? d_q : -1, -1};
    const char* wide = nullptr;  // the parameter that determined the hidden width
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Weight<T>& weight = weights_[i];
      const ScoreParameter& p = score_.parameters[i];
      if (!weight) continue;
      weight.expect(p.shape_of(sizes),
                    wide ? concat("as wide as ", wide) : "for " + (by_position ? q : both));
      if (std::ranges::count(p.shape, Size::hidden) > 0 && sizes.hidden < 0) {
        sizes.hidden = weight.shape.back();
        wide = p.name;
      }
      if (std::ranges::count(p.shape, Size::positions) > 0 && weight.shape.back() < keys) {
        fail(weight.name, ": has scores for ", weight.shape.back(), " positions, but ", key, " has ", keys,
             " rows");
      }
    }
  }

  /// The matrix (for a vector, a row) of a head; no data if `name` is null or absent.
  Matrix<const T> head(const char* name, std::int64_t head) const {
    for (std::size_t i = 0; name && i < weights_.size(); ++i) {
      if (std::string(score_.parameters[i].name) == name && weights_[i]) return weights_[i].head(head);
    }
    return {};
  }

 private:
  const ScoreFunction& score_;
  std::vector<Weight<T>> weights_;  ///< of score_.parameters
};

/// Scores of one head. Per-row computations are prepared first, in any order and on any thread.
template <class T>
class HeadScores {
 public:
  /// q [n, d_q], k [m, d_k]; everything must outlive this.
  HeadScores(const ScoreParameters<T>& parameters, std::int64_t head, Matrix<const T> q, Matrix<const T> k)
      : score_(&parameters.score()),
        q_(parameters, score_->query, head, q, k.cols),
        k_(parameters, score_->key, head, k, k.cols),
        weight_(parameters.head(score_->weight, head)) {}

  void prepare_queries(RowRange rows) { q_.prepare(*score_, rows); }
  void prepare_keys(RowRange rows) { k_.prepare(*score_, rows); }
  /// e [queries, keys] for prepared rows.
  void compute(RowRange queries, RowRange keys, Matrix<T> e) const { compute(*score_, queries, keys, e); }
  /// The scores of another score function over the same queries and keys.
  void compute(const ScoreFunction& score, RowRange queries, RowRange keys, Matrix<T> e) const {
    score.kernels<T>().forward({q_.rows(queries), k_.rows(keys), weight_, keys.first}, e);
  }

 private:
  /// Queries or keys.
  struct Side {
    Matrix<const T> given;
    Matrix<const T> map, bias;                      ///< no data: none
    std::vector<T> mapped_values, prepared_values;  ///< rows after map and bias, and their precomputation
    Matrix<T> mapped, prepared;

    Side(const ScoreParameters<T>& parameters, const ScoreMap& how, std::int64_t head, Matrix<const T> rows,
         std::int64_t d_k)
        : given(rows) {
      const ScoreFunction& score = parameters.score();
      if (how) {
        const Matrix<const T> w = parameters.head(how.weight, head);
        map = how.part == ScoreMap::Part::transposed
                  ? w.t()
                  : w.row_range(how.first(w.rows, d_k), how.count(w.rows, d_k));
        bias = parameters.head(how.bias, head);
        mapped = room(mapped_values, map.cols);
      }
      if (score.prepared_width)
        prepared = room(prepared_values, score.prepared_width(how ? map.cols : rows.cols));
    }
    void prepare(const ScoreFunction& score, RowRange range) {
      if (map.data) {
        const Matrix<T> to = mapped.row_range(range.first, range.count);
        gemm<T>(1, given.row_range(range.first, range.count), map, 0, to);
        if (bias.data) {
          bias_activation_dropout<T>({bias.data, static_cast<std::size_t>(bias.cols)}, Activation::none,
                                     Dropout{}, to);
        }
      }
      if (prepared.data)
        score.kernels<T>().prepare(rows(range).x, prepared.row_range(range.first, range.count));
    }
    ScoreSide<T> rows(RowRange range) const {
      return ScoreSide<T>{map.data ? mapped : given, prepared}.row_range(range.first, range.count);
    }
    Matrix<T> room(std::vector<T>& values, std::int64_t cols) const {
      values.resize(static_cast<std::size_t>(given.rows * cols));
      return {values.data(), given.rows, cols};
    }
  };

  const ScoreFunction* score_;
  Side q_, k_;
  Matrix<const T> weight_;
};

}  // namespace heed
