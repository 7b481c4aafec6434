// A recurrent cell (tensor/cells/cell.h) over the rows of many steps, with what all cells share: the products
// with U, their dropout and normalisation, and the gradient of U. What the differentiable operations on
// cells (autograd/ops_recurrent.h) are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "tensor/cells/cell.h"
#include "tensor/kernels.h"
#include "tensor/philox.h"
#include "tensor/step_product.h"

namespace heed {

template <class T>
inline constexpr T kNormEpsilon = T(1e-5);

/// Layer normalisation (Ba, Kiros, Hinton 2016, eq. 4) inside an operation that runs step by step:
/// y = gamma (s - mean) / sqrt(variance + eps) + beta for the rows of many steps; eps =
/// kNormEpsilon.
template <class T>
class StepNorm {
 public:
  /// gamma, beta [1, d], beta may be none. `rows`: how many rows all steps together have at most.
  StepNorm(Var<T> gamma, Var<T> beta, std::int64_t rows)
      : gamma_(gamma),
        beta_(beta),
        mean_(gamma.tape().arena().template allocate<T>(rows)),
        rstd_(gamma.tape().arena().template allocate<T>(rows)),
        zeros_(static_cast<std::size_t>(gamma.cols())),
        unwanted_(zeros_.size()) {}

  /// s and y may be some columns of a matrix; `first` is the number of their first row among all steps'.
  void forward(std::int64_t first, Matrix<const T> s, Matrix<T> y) {
    const std::span<const T> beta = beta_ ? row_span(beta_.value(), 0) : std::span<const T>(zeros_);
    add_layer_norm<T>(s, {}, Dropout{}, row_span(gamma_.value(), 0), beta, kNormEpsilon<T>, {}, y,
                      rows(mean_, first, s.rows), rows(rstd_, first, s.rows));
  }
  /// d_s from d_y, which it may be; adds to the gradients of gamma and beta.
  void backward(std::int64_t first, Matrix<const T> s, Matrix<const T> d_y, Matrix<T> d_s) {
    layer_norm_backward<T>(s, rows(mean_, first, s.rows), rows(rstd_, first, s.rows),
                           row_span(gamma_.value(), 0), d_y, d_s, gradient_of(gamma_), gradient_of(beta_));
  }

 private:
  static std::span<T> rows(T* all, std::int64_t first, std::int64_t n) {
    return {all + first, static_cast<std::size_t>(n)};
  }
  std::span<T> gradient_of(Var<T> v) {
    Tape<T>& tape = gamma_.tape();
    if (!tape.wants_gradient(v)) return unwanted_;
    return row_span(tape.gradient(v), 0);
  }

  Var<T> gamma_, beta_;
  T *mean_, *rstd_;
  std::vector<T> zeros_, unwanted_;
};

/// What a cell computes with; d is the width of h.
template <class T>
struct CellParameters {
  const Cell* cell = nullptr;
  Var<T> recurrent;            ///< U of all gates [d, gates * d]
  std::vector<Var<T>> own;     ///< the cell's [1, d], or none where its `when` does not hold
  Var<T> norm;                 ///< gamma of the products U h' [1, gates * d], or none
  Var<T> own_gamma, own_beta;  ///< of the cell's `norm` [1, d]
  Dropout drop;  ///< on h' in the products with U: a mask for each row of the first step, kept by all steps

  std::int64_t state_width() const { return cell->state_width(recurrent.rows()); }
};

/// Observes, and may edit, the values within a cell.
template <class T>
struct CellObserver {
  /// Receives every value of a step, by its name below the layer, before anything is computed from it.
  std::function<void(std::size_t step, const std::string& name, Matrix<T> value)> observe;
  bool changes = false;  ///< it may write to them; such steps have no backward pass
};

/// Steps forward, then the same steps backward in the opposite order. Row i of each step is of the same
/// sequence. Keeps what the backward pass needs in the tape's arena; the gradient of U is taken once, at
/// the end, by one product over the rows of all steps.
template <class T>
class CellRun : private CellStep<T> {
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
  /// No further step forward: gives memory back.
  void end_forward();
  /// Adds what is left of the parameters' gradients; steps that backward() did not pass have none.
  void finish();

 private:
  struct Step {
    std::int64_t first, rows;
    bool passed = false;  ///< by backward()
  };
  Matrix<T> of_step(Matrix<T> all, std::size_t step) const {
    return all.data ? all.row_range(steps_[step].first, steps_[step].rows) : all;
  }
  template <class U>
  Matrix<U> columns(Matrix<U> all, GateRange gates) const {
    return all.columns(gates.first * d_, gates.count * d_);
  }
  Matrix<T> spread(std::int64_t rows, std::int64_t cols);
  /// Makes CellStep those rows.
  void enter(std::size_t step, Matrix<const T> before, Matrix<T> after);
  void read_state();
  void start_backward();
  /// With U of some gates.
  struct GateProduct {
    GateProduct(GateRange range, StepProduct<T> by) : gates(range), product(std::move(by)) {}

    GateRange gates;
    StepProduct<T> product;
  };
  StepProduct<T>& product_of(GateRange gates);
  /// The gates whose products with U read h'.
  GateRange early() const { return {0, cell_.gate_count() - cell_.reads_kept.count}; }
  /// Calls visit(norm, range) for each range of gates within `gates` that is normalised together.
  template <class Visit>
  void each_norm(GateRange gates, Visit&& visit);

  Matrix<const T> parameter(std::size_t i) const override;
  Matrix<T> gradient(std::size_t i) override;
  void multiply(GateRange gates, Matrix<const T> input) override;
  void multiply_backward(GateRange gates, T beta, Matrix<T> d_input) override;
  void normalize(Matrix<const T> s) override;
  void normalize_backward(Matrix<const T> s, Matrix<T> d) override;
  void name(const std::string& value, Matrix<T> rows) override;
  void name_gate(std::int64_t gate, Matrix<T> rows) override;

  CellParameters<T> parameters_;
  const Cell& cell_;
  Tape<T>* tape_;
  std::int64_t d_, rows_, used_ = 0, most_ = 0;  ///< most_: rows of the largest step
  std::vector<Step> steps_;
  std::vector<GateProduct> products_;
  std::vector<StepNorm<T>> norms_;  ///< one for each range of normed_together, then the cell's own; or none
  Matrix<T> mask_;                  ///< of dropout [most_, d]
  Matrix<T> h_;                     ///< what U reads of the state before [rows, d]
  Matrix<T> gates_;                 ///< values of the gates [rows, gates * d]
  Matrix<T> kept_;                  ///< what the cell keeps [rows, d]
  Matrix<T> raw_;                   ///< with norm: U h' [rows, gates * d]
  Matrix<T> normed_;                ///< with norm: what the cell normalises itself [rows, d]
  /// Gradients of x, of extra and of U h' [rows, gates * d]; the same matrix where they are the same.
  Matrix<T> d_sums_, d_extra_, d_products_;
  Matrix<T> masked_, scratch_;  ///< [most_, d]
  // Of the step that is being computed.
  std::size_t now_ = 0;
  Matrix<const T> extra_;
  const CellObserver<T>* observer_ = nullptr;
};

}  // namespace heed
