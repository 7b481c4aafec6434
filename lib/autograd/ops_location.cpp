// Attention by position: location scores, and local attention's predicted windows.
#include <cmath>

#include "autograd/ops_recurrent.h"
#include "tensor/gemm.h"

namespace heed {

template <class T>
Var<T> dot_scores(Var<T> q, Var<T> k, const StepKeys& queries) {
  expect_keys("dot_scores", q, k, queries);
  if (q.cols() != k.cols())
    fail("dot_scores: query width ", q.cols(), " and key width ", k.cols(), " differ");
  Tape<T>& tape = q.tape();
  const StepKeys at = keep(tape, queries);
  Var<T> y = new_scores(tape, at);
  const Matrix<T> out = tape.mutable_value(y);
  each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
    gemm<T>(1, q.value().row_range(i, 1), seen.rows_of(k.value()).t(), 0,
            seen.columns_of(out.row_range(i, 1)));
  });
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_q = tape.gradient(q), d_k = tape.gradient(k);
    each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
      const Matrix<const T> d_e = seen.columns_of(d_y.row_range(i, 1));
      gemm<T>(1, d_e, seen.rows_of(k.value()), 1, d_q.row_range(i, 1));
      gemm<T>(1, d_e.t(), q.value().row_range(i, 1), 1, seen.rows_of(d_k));
    });
  });
  return y;
}

template <class T>
Var<T> location_scores(Var<T> x, const StepKeys& queries) {
  if (x.rows() != queries.queries() || x.cols() < queries.keys->longest()) {
    fail("location_scores: [", x.rows(), ", ", x.cols(), "] for ", queries.queries(), " queries of up to ",
         queries.keys->longest(), " keys");
  }
  Tape<T>& tape = x.tape();
  const StepKeys at = keep(tape, queries);
  Var<T> y = new_scores(tape, at);
  const Matrix<T> out = tape.mutable_value(y);
  each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
    std::copy_n(x.value().row(i) + seen.column, seen.count, out.row(i) + seen.column);
  });
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_x = tape.gradient(x);
    each_query(at, [&](std::int64_t i, const StepKeys::Seen& seen) {
      for (std::int64_t j = seen.column; j < seen.column + seen.count; ++j) d_x(i, j) += d_y(i, j);
    });
  });
  return y;
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

#define HEED_INSTANTIATE(T)                                             \
  template Var<T> dot_scores(Var<T>, Var<T>, const StepKeys&);          \
  template Var<T> location_scores(Var<T>, const StepKeys&);             \
  template Var<T> predicted_positions(Var<T>, Var<T>, const StepKeys&); \
  template Var<T> favour_near(Var<T>, Var<T>, std::int64_t, const StepKeys&);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
