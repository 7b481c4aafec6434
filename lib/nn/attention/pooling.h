// Attention pooling: rows become one vector, their sum weighted by how much each resembles a learned vector. Yang, Yang, Dyer,
// He, Smola, Hovy: Hierarchical attention networks for document classification, NAACL 2016, eq. 5-7 of words and 8-10 of sentences:
//   u_i = tanh(W h_i + b), alpha = softmax(u_i . u_c), v = sum_i alpha_i h_i.
// Parameters: <scope>/query/weight W [d, d], query/bias b [d], score/weight u_c [d]. Named values: scores, weights
// (alpha), of one head, a query for each vector that is made.
#pragma once

#include <string>

#include "nn/attention/step_keys.h"
#include "nn/scope.h"

namespace heed {

template <class T>
void add_pooling(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d);

/// The vectors v [n, d] of states [rows, d]: vector i is made of the rows that query i of `at` sees. `queries`: what the
/// vectors are, for their names. The named scores and weights are of the keys of `shown`, of which each query sees the same
/// rows: of others the score is -infinity and the weight 0. Throws Error when there are not as many rows as `at` says.
template <class T>
Var<T> pool(const Scope<T>& scope, Var<T> states, const StepRows& queries, const StepKeys& at,
            const StepKeys& shown);

}  // namespace heed
