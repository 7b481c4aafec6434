// The differentiable operations of recurrent models, which process a sentence step by step: a matrix holds
// one row for each sequence still running. Rules as in autograd/ops.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/recurrent_cell.h"
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

/// y_j = max(x_2j, x_2j+1), counted from 0: x [n, 2 l] -> [n, l].
template <class T>
Var<T> maxout(Var<T> x);

/// Row i times s_i: x [n, d], s [n, 1].
template <class T>
Var<T> scale_rows(Var<T> x, Var<T> s);

/// y_t = f_t y_(t-1) + (1 - f_t) x_t along the rows of each sequence: x, f [rows, d], start [sequences, d],
/// which stands before the first of each -> [rows, d]. `rows` must outlive the pass.
template <class T>
Var<T> running_mean(Var<T> x, Var<T> f, const Packing& rows, Var<T> start);

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
  /// What the steps keep for the end.
  struct Rows {
    Rows(const Var<T>& weight, std::int64_t rows)
        : product(weight.tape().precision(), weight.value(), rows) {}

    StepProduct<T> product;
    Matrix<T> inputs;  ///< [rows, d_in], with gradients only
    std::int64_t used = 0;
  };
  Var<T> weight_, bias_;
  Var<T> outputs_;  ///< [rows, d_out]: each step's result is some of its rows
  std::shared_ptr<Rows> rows_;
};

/// A recurrent cell, step by step. The gradients of its parameters are taken at the end, as StepLinear's.
template <class T>
class CellSteps {
 public:
  /// `rows`: how many rows all steps together have at most.
  CellSteps(const CellParameters<T>& parameters, std::int64_t rows);
  /// x [n, gates * d], state [n, state width] -> the next state. `extra`, like x or none, is added to the
  /// products with U, x to what the gates make of them. `observer` receives the values within the cell.
  Var<T> operator()(Var<T> x, Var<T> state, Var<T> extra = {}, const CellObserver<T>& observer = {});

 private:
  Var<T> end_;  ///< stands for all steps: its backward function, recorded first, runs last
  std::shared_ptr<CellRun<T>> run_;
};

/// All steps of a cell over rows in time order: step t has the rows first[t] .. first[t + 1] - 1, the first
/// ones of step t - 1 going on. x and extra [rows, gates * d] as in CellSteps; start [rows of step 0, state
/// width], or none for zeros -> the states after each row [rows, state width]. `observer` as in CellSteps.
template <class T>
Var<T> cell_layer(const CellParameters<T>& parameters, Var<T> x, std::span<const std::int64_t> first,
                  Var<T> start = {}, Var<T> extra = {}, const CellObserver<T>& observer = {});

}  // namespace heed
