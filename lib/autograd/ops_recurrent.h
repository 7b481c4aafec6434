// The differentiable operations of recurrent models, which go through a sentence step by step: a matrix holds
// one row for each sequence still running. Rules as in autograd/ops.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/step_keys.h"
#include "autograd/tape.h"
#include "tensor/packing.h"

namespace heed {

/// Row `row` of the part `part` of several matrices.
struct RowOf {
  std::int32_t part = 0;
  std::int64_t row = 0;
};
/// Row i of the result is the row rows[i] of `parts`, all of one width: y [rows.size(), d]. Gathers the steps
/// of a sequence, or changes the order of rows; a row may be taken many times.
template <class T>
Var<T> select_rows(const std::vector<Var<T>>& parts, const std::vector<RowOf>& rows);

/// [a, b]: a [n, d], b [n, k] -> [n, d + k].
template <class T>
Var<T> side_by_side(Var<T> a, Var<T> b);

/// onto + a b, elementwise, same shape; each may be some columns of a matrix, onto may be none.
template <class T>
Var<T> multiply(Var<T> a, Var<T> b, Var<T> onto = {});

/// (1 - z) a + z b, elementwise; each may be some columns of a matrix.
template <class T>
Var<T> interpolate(Var<T> z, Var<T> a, Var<T> b);

/// LSTM step (kernels.h, lstm_forward): sums [n, 4 h], c_prev [n, h] -> state [n, 2 h] = (h, c).
template <class T>
Var<T> lstm_cell(Var<T> sums, Var<T> c_prev);

/// y_j = max(x_2j, x_2j+1), counted from 0: x [n, 2 l] -> [n, l].
template <class T>
Var<T> maxout(Var<T> x);

/// A linear layer that is applied once a step: onto + x W + b. The gradients of W and b are taken at the end,
/// by one product over the rows of all steps.
template <class T>
class StepLinear {
 public:
  /// `rows`: how many rows all steps together have at most. W [d_in, d_out], b [1, d_out] or none.
  StepLinear(Var<T> weight, std::int64_t rows, Var<T> bias = {});
  /// x [n, d_in], onto [n, d_out] or none -> [n, d_out].
  Var<T> operator()(Var<T> x, Var<T> onto = {});

 private:
  /// What the steps leave for the end.
  struct Rows {
    Matrix<T> inputs;  ///< [rows, d_in], with gradients only
    std::int64_t used = 0;
  };
  Var<T> weight_, bias_;
  Var<T> outputs_;  ///< [rows, d_out]: each step's result is some of its rows
  std::shared_ptr<Rows> rows_;
};

/// Scores are matrices [n, longest sentence], -infinity where a query does not look.

/// e_ij = q_i . k_j: q [n, d], k [key rows, d]. Luong et al. 2015, eq. 8, dot.
template <class T>
Var<T> dot_scores(Var<T> q, Var<T> k, const StepKeys& at);

/// e_ij = v^T tanh(q_i + k_j): q [n, a], k [key rows, a], v [1, a]. Bahdanau et al. 2015, appendix A.1.2.
template <class T>
Var<T> additive_scores(Var<T> q, Var<T> k, Var<T> v, const StepKeys& at);

/// Softmax of each row.
template <class T>
Var<T> softmax(Var<T> scores);

/// c_i = sum_j alpha_ij m_j: alpha [n, longest], m [key rows, d] -> [n, d].
template <class T>
Var<T> weighted_sum(Var<T> alpha, Var<T> m, const StepKeys& at);

// ---- attention by position: Luong et al. 2015
/// Scores that do not look at the keys: e_ij = x_ij for the keys j that query i sees: x [n, at least the
/// longest sentence].
template <class T>
Var<T> location_scores(Var<T> x, const StepKeys& at);

/// p_i = S sigmoid(v . t_i), S the length of query i's sentence (eq. 9): t [n, a], v [1, a] -> [n, 1].
template <class T>
Var<T> predicted_positions(Var<T> t, Var<T> v, const StepKeys& at);

/// alpha_ij exp(-(j - p_i)^2 / (2 (d / 2)^2)) (eq. 10): alpha [n, longest], p [n, 1].
template <class T>
Var<T> favour_near(Var<T> alpha, Var<T> p, std::int64_t d, const StepKeys& at);

}  // namespace heed
