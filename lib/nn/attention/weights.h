// The differentiable operations of attention, in order: scores, softmax, weighted sum. Conventions as in
// autograd/ops.h. Scores and weights are matrices [n, longest sentence]; for keys that a query does not
// attend to, scores are -infinity and weights 0.
#pragma once

#include "autograd/tape.h"
#include "nn/attention/score_function.h"
#include "nn/attention/step_keys.h"

namespace heed {

/// The keys of a memory [key rows, w], with what the score precomputes for each of them.
template <class T>
struct ComparedKeys {
  Var<T> k;
  Matrix<const T> prepared;
};
template <class T>
ComparedKeys<T> compare_with(const ScoreFunction& score, Var<T> k);

/// e_ij = score(q_i, k_j) for the keys j that query i attends to: q [n, w]; `weight` is the parameter used in
/// the comparison, a vector as [1, a]; none if there is none. Throws Error unless the numbers of rows are
/// those of `at`.
template <class T>
Var<T> attention_scores(const ScoreFunction& score, Var<T> q, const ComparedKeys<T>& keys, Var<T> weight,
                        const StepKeys& at);

/// Softmax of each row.
template <class T>
Var<T> softmax(Var<T> scores);

/// c_i = sum_j alpha_ij m_j: alpha [n, longest], m [key rows, d] -> [n, d].
template <class T>
Var<T> weighted_sum(Var<T> alpha, Var<T> m, const StepKeys& at);

/// The mean of each sentence's rows: m [rows, d] -> [sentences, d].
template <class T>
Var<T> sentence_means(Var<T> m, const Packing& rows);

}  // namespace heed
