// The arithmetic of recurrent cells over the rows of many steps: what the differentiable operations on them
// (autograd/ops_recurrent.h) share. The equations are in nn/recurrent.h.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/tape.h"

namespace heed {

enum class Cell : std::uint8_t { rnn, gru, gru_reset_after, lstm };

/// Gates of the cell, side by side in its matrices: GRU z, r, g; LSTM i, f, o, g.
std::int64_t gate_count(Cell cell);

/// What a cell computes with; d is the width of h.
template <class T>
struct CellParameters {
  Cell cell = Cell::rnn;
  Var<T> recurrent;       ///< U of all gates [d, gates * d]
  Var<T> candidate_bias;  ///< b_u of gru_reset_after [1, d]
};

/// Of a state: h, and for the LSTM h and c side by side.
template <class T>
std::int64_t state_width(const CellParameters<T>& parameters) {
  return parameters.recurrent.rows() * (parameters.cell == Cell::lstm ? 2 : 1);
}

/// Steps forward, then the same steps backward in the opposite order. Keeps what the way back needs in the
/// tape's arena; gradients of the parameters are taken once, at the end, by one product over the rows of all
/// steps.
template <class T>
class CellRun {
 public:
  /// `rows`: how many rows all steps together have at most.
  CellRun(const CellParameters<T>& parameters, std::int64_t rows);

  /// A step: `extra` [n, gates * d], or none, is added to the products U h', x [n, gates * d] to what the
  /// gates make of them; `before` and `after` [n, state width]. Returns the step's number.
  std::size_t forward(Matrix<const T> x, Matrix<const T> extra, Matrix<const T> before, Matrix<T> after);
  /// Turns the gradient of `after` into that of `before`, in place.
  void backward(std::size_t step, Matrix<const T> before, Matrix<const T> after, Matrix<T> d_state);
  /// The gradient of a step's x, when backward() has passed it.
  Matrix<const T> d_x(std::size_t step) const { return of_step(d_sums_, step); }
  Matrix<const T> d_extra(std::size_t step) const { return of_step(d_products_, step); }
  /// Of all steps.
  Matrix<const T> d_x() const { return d_sums_.row_range(0, used_); }
  Matrix<const T> d_extra() const { return d_products_.row_range(0, used_); }
  /// Adds the parameters' gradients of all steps; those that backward() did not pass have none.
  void finish();

 private:
  struct Step {
    std::int64_t first, rows;
    bool passed = false;  ///< by backward()
  };
  Matrix<T> of_step(Matrix<T> all, std::size_t step) const {
    return all.row_range(steps_[step].first, steps_[step].rows);
  }
  Matrix<T> spread(std::int64_t rows, std::int64_t cols);

  CellParameters<T> parameters_;
  Tape<T>* tape_;
  std::int64_t d_, rows_, used_ = 0, most_ = 0;  ///< most_: rows of the largest step
  std::vector<Step> steps_;
  Matrix<T> h_;                    ///< h before each step [rows, d]
  Matrix<T> gates_;                ///< values of the gates [rows, gates * d]
  Matrix<T> second_;               ///< gru: r h'; gru_reset_after: U h' + b_u of the candidate [rows, d]
  Matrix<T> d_sums_, d_products_;  ///< gradients of x + U h' and of U h' [rows, gates * d], mostly the same
  Matrix<T> scratch_;              ///< [most_, d]
};

}  // namespace heed
