// The score functions (nn/score_function.h) over the queries and keys of one sentence and head.
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

/// The score's own parameters.
template <class T>
struct ScoreParameters {
  ScoreFunction score;
  Weight<T> weight, concat, concat_bias;

  ScoreParameters(ScoreFunction score, const AttendParameters& parameters, std::int64_t heads);
  /// Throws Error unless the widths of one head fit the parameters; `query` and `key` are what messages call
  /// them.
  void expect_widths(const std::string& query, std::int64_t d_q, const std::string& key, std::int64_t d_k,
                     std::int64_t keys) const;
};

/// Scores of one head. What can be computed row by row is prepared first, in any order and on any thread.
template <class T>
class HeadScores {
 public:
  /// q [n, d_q], k [m, d_k]; everything must outlive this.
  HeadScores(const ScoreParameters<T>& parameters, std::int64_t head, Matrix<const T> q, Matrix<const T> k);

  void prepare_queries(RowRange rows);
  void prepare_keys(RowRange rows);
  /// e [queries, keys] of prepared rows.
  void compute(RowRange queries, RowRange keys, Matrix<T> e) const;

 private:
  const ScoreParameters<T>& parameters_;
  std::int64_t head_;
  Matrix<const T> q_, k_;
  std::vector<T> q_projected_, k_projected_;  ///< q W, or the two halves of concat's sum
  std::vector<T> q_factors_, k_factors_;      ///< of additive_scores
};

extern template struct ScoreParameters<float>;
extern template struct ScoreParameters<double>;
extern template class HeadScores<float>;
extern template class HeadScores<double>;

}  // namespace heed
