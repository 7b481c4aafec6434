#include "autograd/ops_hard_attention.h"

#include <algorithm>

#include "base/error.h"

namespace heed {

template <class T>
Var<T> pick(Var<T> alpha, const std::vector<std::int64_t>& picked) {
  Tape<T>& tape = alpha.tape();
  if (alpha.rows() != static_cast<std::int64_t>(picked.size()))
    fail("pick: ", picked.size(), " choices for ", alpha.rows(), " rows");
  Var<T> y = tape.result(alpha.rows(), alpha.cols());
  const Matrix<T> out = tape.mutable_value(y);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const std::int64_t key = picked[static_cast<std::size_t>(i)];
    if (key >= out.cols) fail("pick: key ", key, " of ", out.cols);
    if (key == kExpected) {
      std::copy_n(alpha.value().row(i), out.cols, out.row(i));
    } else {
      std::fill_n(out.row(i), out.cols, T{0});
      out(i, key) = 1;
    }
  }
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_alpha = tape.gradient(alpha);
    for (std::int64_t i = 0; i < d_y.rows; ++i) {
      if (picked[static_cast<std::size_t>(i)] != kExpected) continue;
      for (std::int64_t j = 0; j < d_y.cols; ++j) d_alpha(i, j) += d_y(i, j);
    }
  });
  return y;
}

template <class T>
Var<T> scale_rows(Var<T> x, Var<T> s) {
  if (s.rows() != x.rows() || s.cols() != 1)
    fail("scale_rows: [", s.rows(), ", ", s.cols(), "] factors for ", x.rows(), " rows");
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  const Matrix<T> out = tape.mutable_value(y);
  const Matrix<const T> in = x.value(), by = s.value();
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = by(i, 0) * in(i, j);
  }
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_x = tape.gradient(x), d_s = tape.gradient(s);
    for (std::int64_t i = 0; i < d_y.rows; ++i) {
      for (std::int64_t j = 0; j < d_y.cols; ++j) {
        d_x(i, j) += by(i, 0) * d_y(i, j);
        d_s(i, 0) += in(i, j) * d_y(i, j);
      }
    }
  });
  return y;
}

#define HEED_INSTANTIATE(T)                                       \
  template Var<T> pick(Var<T>, const std::vector<std::int64_t>&); \
  template Var<T> scale_rows(Var<T>, Var<T>);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
