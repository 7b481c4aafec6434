// Attention pooling: rows become one vector, their sum weighted by similarity to a learned vector. Yang,
// Yang, Dyer, He, Smola, Hovy: Hierarchical attention networks for document classification, NAACL 2016, eq.
// 5-7 for words and 8-10 for sentences:
//   u_i = tanh(W h_i + b), alpha = softmax(u_i . u_c), v = sum_i alpha_i h_i.
// Parameters: <scope>/query/weight W [d, d], query/bias b [d], score/weight u_c [d]. Named values: scores,
// weights (alpha), with one head and a query for each pooled vector.
#pragma once

#include <string>

#include "nn/attention/step_keys.h"
#include "nn/scope.h"

namespace heed {

template <class T>
void add_pooling(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d);

/// The vectors v [n, d] from states [rows, d]: vector i pools the rows that query i of `at` sees. `queries`:
/// the meaning of the vectors, for their names. The named scores and weights cover the keys of `shown`; rows
/// that a query does not see have score -infinity and weight 0. Throws Error unless the number of rows is
/// that of `at`.
template <class T>
Var<T> pool(const Scope<T>& scope, Var<T> states, const StepRows& queries, const StepKeys& at,
            const StepKeys& shown);

}  // namespace heed
