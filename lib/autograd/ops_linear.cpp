#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/gemm.h"
#include "tensor/packed_weights.h"

namespace heed {

namespace {

template <class T>
std::span<const T> row_of(Var<T> bias) {
  return bias ? std::span<const T>(bias.value().data, static_cast<std::size_t>(bias.cols()))
              : std::span<const T>();
}

/// y = f(x w + bias) with the tape's packed weights; false when it has none or not this one.
template <class T>
bool multiply_packed(const Tape<T>& tape, Matrix<const T> x, Matrix<const T> w, std::span<const T> bias,
                     Activation f, Matrix<T> y) {
  const PackedMatrix<T>* packed = tape.packed_weights() ? tape.packed_weights()->find(w) : nullptr;
  if (packed) multiply_packed<T>(x, *packed, bias, f, y);
  return packed != nullptr;
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
  if (drop.active() || !multiply_packed<T>(tape, x.value(), weight.value(), row_of(bias), f, out)) {
    gemm<T>(tape.precision(), x.value(), weight.value(), plain ? row_of(bias) : std::span<const T>(), out);
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
      gemm<T>(tape.precision(), x.value().t(), d_y, beta, d_weight);
    }
    if (tape.wants_gradient(x)) {
      Matrix<T> d_x = tape.gradient(x, beta);
      gemm<T>(tape.precision(), d_y, weight.value().t(), beta, d_x);
    }
  });
  return y;
}

template <class T>
Var<T> logits_of(Var<T> x, Var<T> weight, bool tied, Var<T> bias) {
  Tape<T>& tape = x.tape();
  Matrix<const T> w = tied ? weight.value().t() : weight.value();
  Var<T> y = tape.result(x.rows(), w.cols);
  const Matrix<T> out = tape.mutable_value(y);
  if (!multiply_packed<T>(tape, x.value(), w, row_of(bias), Activation::none, out))
    gemm<T>(tape.precision(), x.value(), w, row_of(bias), out);
  return tape.without_backward(y);
}

HEED_INSTANTIATE(linear)
HEED_INSTANTIATE(logits_of)

}  // namespace heed
