// The score functions (nn/attention/score_function.h) over the queries and keys of one sentence and head.
#pragma once

#include <string>
#include <vector>

#include "attend/parameters.h"
#include "tensor/matrix.h"

namespace heed {

/// Some rows of a matrix.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// A score function's own parameters.
template <class T>
class ScoreParameters {
 public:
  /// Throws Error when one is missing, UsageError when there is one that the score has no use for.
  ScoreParameters(const ScoreFunction& score, const AttendParameters& parameters, std::int64_t heads);

  const ScoreFunction& score() const { return score_; }
  /// Throws Error unless the widths of one head fit the parameters; `query` and `key` are what messages call
  /// them.
  void expect_widths(const std::string& query, std::int64_t d_q, const std::string& key, std::int64_t d_k,
                     std::int64_t keys) const;
  /// The matrix of a head (a row, for vectors); no data when `name` is null or absent.
  Matrix<const T> head(const char* name, std::int64_t head) const;

 private:
  const ScoreFunction& score_;
  std::vector<Weight<T>> weights_;  ///< of score_.parameters
};

/// Scores of one head. What can be computed row by row is prepared first, in any order and on any thread.
template <class T>
class HeadScores {
 public:
  /// q [n, d_q], k [m, d_k]; everything must outlive this.
  HeadScores(const ScoreParameters<T>& parameters, std::int64_t head, Matrix<const T> q, Matrix<const T> k);

  void prepare_queries(RowRange rows) { q_.prepare(*score_, rows); }
  void prepare_keys(RowRange rows) { k_.prepare(*score_, rows); }
  /// e [queries, keys] of prepared rows.
  void compute(RowRange queries, RowRange keys, Matrix<T> e) const { compute(*score_, queries, keys, e); }
  /// The same by another score function, over what this one compares.
  void compute(const ScoreFunction& score, RowRange queries, RowRange keys, Matrix<T> e) const {
    score.kernels<T>().forward({q_.rows(queries), k_.rows(keys), weight_, keys.first}, e);
  }

 private:
  /// Queries or keys.
  struct Side {
    Matrix<const T> given;
    Matrix<const T> map, bias;                      ///< no data: none
    std::vector<T> mapped_values, prepared_values;  ///< given map + bias, and what the score makes of that
    Matrix<T> mapped, prepared;

    Side(const ScoreParameters<T>& parameters, const ScoreMap& how, std::int64_t head, Matrix<const T> rows,
         std::int64_t d_k);
    void prepare(const ScoreFunction& score, RowRange range);
    ScoreSide<T> rows(RowRange range) const {
      return ScoreSide<T>{map.data ? mapped : given, prepared}.row_range(range.first, range.count);
    }
  };

  const ScoreFunction* score_;
  Side q_, k_;
  Matrix<const T> weight_;
};

extern template class ScoreParameters<float>;
extern template class ScoreParameters<double>;
extern template class HeadScores<float>;
extern template class HeadScores<double>;

}  // namespace heed
