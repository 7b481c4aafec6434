// The arithmetic of recurrent cells over the rows of many steps: what the differentiable operations on them
// (autograd/ops_recurrent.h) share. The equations are in nn/recurrent.h.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "autograd/step_norm.h"
#include "autograd/tape.h"
#include "tensor/kernels_recurrent.h"
#include "tensor/philox.h"

namespace heed {

enum class Cell : std::uint8_t { rnn, gru, gru_reset_after, lstm };

/// Gates of the cell, side by side in its matrices: GRU z, r, g; LSTM i, f, o, g.
std::int64_t gate_count(Cell cell);

/// Gates that stand side by side.
struct GateRange {
  std::int64_t first, count;
};
/// The ranges of gates whose sums are normalised together: all gates, but the candidate of a GRU by itself.
std::vector<GateRange> normed_together(Cell cell);

/// What a cell computes with; d is the width of h.
template <class T>
struct CellParameters {
  Cell cell = Cell::rnn;
  Var<T> recurrent;              ///< U of all gates [d, gates * d]
  Var<T> candidate_bias;         ///< b_u of gru_reset_after [1, d]
  Var<T> peepholes[3];           ///< of an LSTM's i, f and o [1, d], or none
  Var<T> norm;                   ///< gamma of the products U h' [1, gates * d], or none
  Var<T> cell_gamma, cell_beta;  ///< of an LSTM's c with `norm` [1, d]
  Dropout drop;  ///< on h' in the products with U: a mask for each row of the first step, kept by all steps
};

/// What a step computes [n, d]: a gate, h, c; with layer normalisation a gate's part of LN(U h'), and LN(c).
struct CellPart {
  enum Kind : std::uint8_t { gate, hidden, cell, normed_product, normed_cell } kind;
  std::int64_t number = 0;  ///< of the gate
};
/// Observes, and may edit, the values within a cell.
template <class T>
struct CellObserver {
  /// Receives every part of a step before anything is computed from it.
  std::function<void(std::size_t step, CellPart part, Matrix<T> value)> observe;
  bool changes = false;  ///< it may write to them; such steps have no backward pass
};

/// Of a state: h, and for the LSTM h and c side by side.
template <class T>
std::int64_t state_width(const CellParameters<T>& parameters) {
  return parameters.recurrent.rows() * (parameters.cell == Cell::lstm ? 2 : 1);
}

/// Steps forward, then the same steps backward in the opposite order. Row i of each step is of the same
/// sequence. Keeps what the backward pass needs in the tape's arena; the gradient of U is taken once, at
/// the end, by one product over the rows of all steps.
template <class T>
class CellRun {
 public:
  /// `rows`: how many rows all steps together have at most.
  CellRun(const CellParameters<T>& parameters, std::int64_t rows);

  /// A step: `extra` [n, gates * d], or none, is added to the products U h', x [n, gates * d] to what the
  /// gates make of them; `before` and `after` [n, state width]. Returns the step's number.
  std::size_t forward(Matrix<const T> x, Matrix<const T> extra, Matrix<const T> before, Matrix<T> after,
                      const CellObserver<T>& observer = {});
  /// Turns the gradient of `after` into that of `before`, in place.
  void backward(std::size_t step, Matrix<const T> before, Matrix<const T> after, Matrix<T> d_state);
  /// The gradient of a step's x, when backward() has passed it.
  Matrix<const T> d_x(std::size_t step) const { return of_step(d_sums_, step); }
  Matrix<const T> d_extra(std::size_t step) const { return of_step(d_extra_, step); }
  /// Of all steps.
  Matrix<const T> d_x() const { return d_sums_.row_range(0, used_); }
  Matrix<const T> d_extra() const { return d_extra_.row_range(0, used_); }
  /// Adds what is left of the parameters' gradients; steps that backward() did not pass have none.
  void finish();

 private:
  struct Step {
    std::int64_t first, rows;
    bool passed = false;  ///< by backward()
  };
  Matrix<T> of_step(Matrix<T> all, std::size_t step) const {
    return all.row_range(steps_[step].first, steps_[step].rows);
  }
  Matrix<T> columns(Matrix<T> all, GateRange gates) const {
    return all.columns(gates.first * d_, gates.count * d_);
  }
  Matrix<const T> weight(GateRange gates) const {
    return parameters_.recurrent.value().columns(gates.first * d_, gates.count * d_);
  }
  Matrix<T> spread(std::int64_t rows, std::int64_t cols);
  void read_state(std::size_t step, Matrix<const T> before);
  /// The sums of `gates` so far: input U, normalised, plus extra.
  void multiply(std::size_t step, GateRange gates, Matrix<const T> input, Matrix<const T> extra,
                const CellObserver<T>& observer);
  /// Backward: d_input = or += the gradient of that input, from d_extra_.
  void multiply_backward(std::size_t step, GateRange gates, T beta, Matrix<T> d_input);
  void lstm_through_output(std::size_t step, Matrix<const T> c, Matrix<T> d_state);
  Peepholes<T> peepholes() const;
  /// h from z and g.
  void mix(std::size_t step, Matrix<const T> h_prev, Matrix<T> h) const;
  void start_backward();
  bool two_products() const { return parameters_.cell == Cell::gru; }

  CellParameters<T> parameters_;
  Tape<T>* tape_;
  std::int64_t d_, rows_, used_ = 0, most_ = 0;  ///< most_: rows of the largest step
  std::vector<Step> steps_;
  std::vector<StepNorm<T>> norms_;  ///< one for each range of normed_together, then that of c; or none
  Matrix<T> mask_;                  ///< of dropout [most_, d]
  Matrix<T> h_;                     ///< what U reads of the state before [rows, d]
  Matrix<T> gates_;                 ///< values of the gates [rows, gates * d]
  Matrix<T> second_;                ///< gru: r h'; gru_reset_after: what r stands before [rows, d]
  Matrix<T> raw_;                   ///< with norm: U h' [rows, gates * d]
  Matrix<T> normed_c_;              ///< with norm: LN(c) [rows, d]
  /// Gradients of x, of extra and of U h' [rows, gates * d]; the same matrix where they are the same.
  Matrix<T> d_sums_, d_extra_, d_products_;
  Matrix<T> scratch_, d_second_;  ///< [most_, d]
};

}  // namespace heed
