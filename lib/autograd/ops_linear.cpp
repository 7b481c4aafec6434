#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/gemm.h"

namespace heed {

namespace {

template <class T>
std::span<const T> row_of(Var<T> bias) {
  return bias ? std::span<const T>(bias.value().data, static_cast<std::size_t>(bias.cols()))
              : std::span<const T>();
}

/// y = x w, or y += x w.
template <class T>
void multiply(const Tape<T>& tape, Matrix<const T> x, Matrix<const T> w, bool accumulate, Matrix<T> y) {
  if (tape.exact_rows())
    multiply_rows<T>(x, w, accumulate, y);
  else
    gemm<T>(1, x, w, accumulate ? 1 : 0, y);
}

}  // namespace

template <class T>
Var<T> linear(Var<T> x, Var<T> weight, Var<T> bias, Activation f, const Dropout& drop) {
  if (x.cols() != weight.rows() || (bias && bias.cols() != weight.cols())) {
    fail("linear: x [", x.rows(), ", ", x.cols(), "] does not fit weight [", weight.rows(), ", ",
         weight.cols(), "]");
  }
  if (!slope_follows_from_value(f)) return drop_out(activate(f, linear(x, weight, bias)), drop);
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), weight.cols());
  Matrix<T> out = tape.mutable_value(y);
  const bool plain = f == Activation::none && !drop.active();
  if (plain && bias) {
    broadcast_row<T>(row_of(bias), out);
    multiply<T>(tape, x.value(), weight.value(), true, out);
  } else {
    multiply<T>(tape, x.value(), weight.value(), false, out);
    if (!plain) bias_activation_dropout<T>(row_of(bias), f, drop, out);
  }
  tape.on_backward(y, [=, &tape] {
    Matrix<T> d_y = tape.gradient(y);
    if (!plain) bias_activation_dropout_backward<T>(f, drop, y.value(), d_y, d_y);  // d_y is not needed again
    if (tape.wants_gradient(bias)) {
      sum_rows<T>(d_y, std::span<T>(tape.gradient(bias).data, static_cast<std::size_t>(bias.cols())));
    }
    T beta;
    if (tape.wants_gradient(weight)) {
      Matrix<T> d_weight = tape.gradient(weight, beta);
      gemm<T>(1, x.value().t(), d_y, beta, d_weight);
    }
    if (tape.wants_gradient(x)) {
      Matrix<T> d_x = tape.gradient(x, beta);
      gemm<T>(1, d_y, weight.value().t(), beta, d_x);
    }
  });
  return y;
}

template <class T>
Var<T> logits_of(Var<T> x, Var<T> weight, bool tied, Var<T> bias) {
  Tape<T>& tape = x.tape();
  Matrix<const T> w = tied ? weight.value().t() : weight.value();
  Var<T> y = tape.result(x.rows(), w.cols);
  if (bias) broadcast_row<T>(row_of(bias), tape.mutable_value(y));
  gemm<T>(1, x.value(), w, bias ? 1 : 0, tape.mutable_value(y));
  return y;
}

HEED_INSTANTIATE(linear)
HEED_INSTANTIATE(logits_of)

}  // namespace heed
