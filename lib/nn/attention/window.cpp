#include "nn/attention/window.h"

#include <algorithm>
#include <cmath>

#include "base/instantiate.h"
#include "tensor/gemm.h"

namespace heed {

KeyWindow window_around(double p, std::int64_t d, std::int64_t keys) {
  const double width = static_cast<double>(d), end = static_cast<double>(keys - 1);
  const double low = std::max(0.0, std::ceil(p - width)), high = std::min(end, std::floor(p + width));
  if (!(low <= high)) return {};
  const auto first = static_cast<std::int64_t>(low);
  return {first, static_cast<std::int64_t>(high) - first + 1};
}

double window_factor(std::int64_t s, double p, std::int64_t d) {
  const double distance = (static_cast<double>(s) - p) / (static_cast<double>(d) / 2);
  return std::exp(-distance * distance / 2);
}

template <class T>
Var<T> predicted_positions(Var<T> t, Var<T> v, const StepKeys& queries) {
  if (t.rows() != queries.queries() || v.rows() != 1 || v.cols() != t.cols()) {
    fail("predicted_positions: t [", t.rows(), ", ", t.cols(), "] and v [", v.rows(), ", ", v.cols(),
         "] do not fit ", queries.queries(), " queries");
  }
  Tape<T>& tape = t.tape();
  const StepKeys at = keep(tape, queries);
  Var<T> y = tape.result(t.rows(), 1);
  const Matrix<T> p = tape.mutable_value(y);
  auto keys = [at](std::int64_t i) {
    return static_cast<T>(at.keys->length(at.sentences[static_cast<std::size_t>(i)]));
  };
  gemm<T>(1, t.value(), v.value().t(), 0, p);
  for (std::int64_t i = 0; i < p.rows; ++i) p(i, 0) = keys(i) / (1 + std::exp(-p(i, 0)));
  tape.on_backward(y, [=, &tape] {
    const Matrix<T> d_z = tape.gradient(y);  // d_p is not needed again
    for (std::int64_t i = 0; i < d_z.rows; ++i) {
      const T share = y.value()(i, 0) / keys(i);
      d_z(i, 0) *= keys(i) * share * (1 - share);
    }
    if (tape.wants_gradient(t)) gemm<T>(1, d_z, v.value(), 1, tape.gradient(t));
    if (tape.wants_gradient(v)) gemm<T>(1, d_z.t(), t.value(), 1, tape.gradient(v));
  });
  return y;
}

template <class T>
Var<T> favour_near(Var<T> alpha, Var<T> p, std::int64_t d, const StepKeys& queries) {
  if (p.rows() != alpha.rows() || p.cols() != 1 || alpha.rows() != queries.queries()) {
    fail("favour_near: weights of ", alpha.rows(), " queries, positions [", p.rows(), ", ", p.cols(), "]");
  }
  Tape<T>& tape = alpha.tape();
  const StepKeys at = keep(tape, queries);
  Var<T> y = tape.result(alpha.rows(), alpha.cols());
  const Matrix<T> out = tape.mutable_value(y);
  std::fill_n(out.data, out.size(), T{0});
  auto factor = [p, d](std::int64_t i, std::int64_t j) {
    return static_cast<T>(window_factor(j, static_cast<double>(p.value()(i, 0)), d));
  };
  each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
    for (std::int64_t j = seen.column; j < seen.column + seen.count; ++j)
      out(i, j) = alpha.value()(i, j) * factor(i, j);
  });
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_alpha = tape.gradient(alpha), d_p = tape.gradient(p);
    const T variance = static_cast<T>(d) * static_cast<T>(d) / 4;
    each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
      for (std::int64_t j = seen.column; j < seen.column + seen.count; ++j) {
        d_alpha(i, j) += d_y(i, j) * factor(i, j);
        d_p(i, 0) += d_y(i, j) * y.value()(i, j) * (static_cast<T>(j) - p.value()(i, 0)) / variance;
      }
    });
  });
  return y;
}

HEED_INSTANTIATE(predicted_positions)
HEED_INSTANTIATE(favour_near)

}  // namespace heed
