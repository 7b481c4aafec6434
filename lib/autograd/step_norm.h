// Layer normalisation (Ba, Kiros, Hinton 2016, eq. 4) inside an operation that runs step by step.
#pragma once

#include <span>
#include <vector>

#include "autograd/tape.h"
#include "tensor/kernels.h"

namespace heed {

template <class T>
inline constexpr T kNormEpsilon = T(1e-5);

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
    const std::span<const T> beta = beta_ ? row_of(beta_) : std::span<const T>(zeros_);
    add_layer_norm<T>(s, {}, Dropout{}, row_of(gamma_), beta, kNormEpsilon<T>, {}, y,
                      rows(mean_, first, s.rows), rows(rstd_, first, s.rows));
  }
  /// d_s from d_y, which it may be; adds to the gradients of gamma and beta.
  void backward(std::int64_t first, Matrix<const T> s, Matrix<const T> d_y, Matrix<T> d_s) {
    layer_norm_backward<T>(s, rows(mean_, first, s.rows), rows(rstd_, first, s.rows), row_of(gamma_), d_y,
                           d_s, gradient_of(gamma_), gradient_of(beta_));
  }

 private:
  static std::span<const T> row_of(Var<T> v) { return {v.value().data, static_cast<std::size_t>(v.cols())}; }
  static std::span<T> rows(T* all, std::int64_t first, std::int64_t n) {
    return {all + first, static_cast<std::size_t>(n)};
  }
  std::span<T> gradient_of(Var<T> v) {
    Tape<T>& tape = gamma_.tape();
    if (!tape.wants_gradient(v)) return unwanted_;
    return {tape.gradient(v).data, static_cast<std::size_t>(v.cols())};
  }

  Var<T> gamma_, beta_;
  T *mean_, *rstd_;
  std::vector<T> zeros_, unwanted_;
};

}  // namespace heed
