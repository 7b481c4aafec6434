// Elementwise operations, embeddings and normalisation.
#include <algorithm>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/packed_weights.h"

namespace heed {

namespace {

template <class T>
std::span<const T> all(Matrix<const T> m) {
  return {m.data, static_cast<std::size_t>(m.size())};
}
template <class T>
std::span<T> all(Matrix<T> m) {
  return {m.data, static_cast<std::size_t>(m.size())};
}

template <class T>
void expect_dense(const char* op, Var<T> x) {
  if (!x.value().dense()) fail(op, ": needs a dense matrix, not a slice");
}

/// gradient(x) += dropout(d).
template <class T>
void add_dropped_gradient(Tape<T>& tape, Var<T> x, Matrix<const T> d, const Dropout& drop) {
  if (!drop.active()) return tape.add_gradient(x, d);
  if (!tape.wants_gradient(x)) return;
  T beta;
  Matrix<T> d_x = tape.gradient(x, beta);
  if (beta == T{0}) {
    dropout<T>(drop, all(d), all(d_x));
  } else {
    dropout_add<T>(drop, all(d), all(d_x));
  }
}

}  // namespace

template <class T>
Var<T> add(Var<T> a, Var<T> b) {
  return add_dropped(a, b, Dropout{});
}

template <class T>
Var<T> add_dropped(Var<T> x, Var<T> sub, const Dropout& drop) {
  if (x.rows() != sub.rows() || x.cols() != sub.cols()) {
    fail("add: [", x.rows(), ", ", x.cols(), "] and [", sub.rows(), ", ", sub.cols(), "] differ");
  }
  expect_dense("add", x);
  expect_dense("add", sub);
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  Matrix<T> out = tape.mutable_value(y);
  std::copy_n(x.value().data, out.size(), out.data);
  if (drop.active()) {
    dropout_add<T>(drop, all(sub.value()), all(out));
  } else {
    add_to<T>(all(sub.value()), all(out));
  }
  tape.on_backward(y, [=, &tape] {
    Matrix<const T> d_y = tape.gradient(y);
    tape.add_gradient(x, d_y);
    add_dropped_gradient(tape, sub, d_y, drop);
  });
  return y;
}

template <class T>
Var<T> multiply(Var<T> a, Var<T> b) {
  if (a.rows() != b.rows() || a.cols() != b.cols())
    fail("multiply: [", a.rows(), ", ", a.cols(), "] and [", b.rows(), ", ", b.cols(), "] differ");
  Tape<T>& tape = a.tape();
  Var<T> y = tape.result(a.rows(), a.cols());
  fill<T>(all(tape.mutable_value(y)), T{0});
  multiply_add<T>(a.value(), b.value(), tape.mutable_value(y));
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    if (tape.wants_gradient(a)) multiply_add<T>(d_y, b.value(), tape.gradient(a));
    if (tape.wants_gradient(b)) multiply_add<T>(d_y, a.value(), tape.gradient(b));
  });
  return y;
}

template <class T>
Var<T> scaled(Var<T> x, T factor) {
  expect_dense("scaled", x);
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  std::copy_n(x.value().data, x.value().size(), tape.mutable_value(y).data);
  scale_by<T>(factor, all(tape.mutable_value(y)));
  tape.on_backward(y, [=, &tape] {
    const Matrix<T> d_y = tape.gradient(y);
    scale_by<T>(factor, all(d_y));  // d_y is not needed again
    tape.add_gradient(x, d_y);
  });
  return y;
}

template <class T>
Var<T> activate(Activation f, Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  const bool whole = x.value().dense();
  const std::int64_t pieces = whole ? 1 : x.rows();
  auto piece = [whole](auto m, std::int64_t i) { return whole ? all(m) : row_span(m, i); };
  for (std::int64_t i = 0; i < pieces; ++i) apply<T>(f, piece(x.value(), i), piece(tape.mutable_value(y), i));
  tape.on_backward(y, [=, &tape] {
    if (!tape.wants_gradient(x)) return;
    T beta;
    const Matrix<const T> d_y = tape.gradient(y);
    if (slope_follows_from_value(f)) {
      const Matrix<T> d_x = tape.gradient(x, beta);
      for (std::int64_t i = 0; i < pieces; ++i)
        apply_backward<T>(f, piece(y.value(), i), piece(d_y, i), piece(d_x, i), beta != T{0});
    } else {
      const Matrix<T> d_x = tape.gradient(x);
      for (std::int64_t i = 0; i < pieces; ++i)
        apply_backward_at<T>(f, piece(x.value(), i), piece(d_y, i), piece(d_x, i));
    }
  });
  return y;
}

template <class T>
Var<T> drop_out(Var<T> x, const Dropout& drop) {
  if (!drop.active()) return x;
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  const Matrix<const T> in = x.value();
  const Matrix<T> out = tape.mutable_value(y);
  copy_rows(in, out);
  dropout<T>(drop, all(Matrix<const T>(out)), all(out));
  tape.on_backward(y, [=, &tape] {
    if (!tape.wants_gradient(x)) return;
    const Matrix<T> d_y = tape.gradient(y), d_x = tape.gradient(x);
    dropout<T>(drop, all(Matrix<const T>(d_y)), all(d_y));  // d_y is not needed again
    const auto width = static_cast<std::size_t>(d_x.cols);
    for (std::int64_t i = 0; i < d_x.rows; ++i) add_to<T>({d_y.row(i), width}, {d_x.row(i), width});
  });
  return y;
}

namespace {

/// Calls gather(rows, numbers) with the columns `ids` as rows, and what stands for `ids` among them.
template <class T, class Gather>
void gather_columns(const PackedMatrix<T>& packed, std::span<const std::int32_t> ids, Arena& arena,
                    const Gather& gather) {
  const Matrix<T> rows = arena.matrix<T>(static_cast<std::int64_t>(ids.size()), packed.rows);
  std::vector<std::int32_t> numbers(ids.size(), kNoRow);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoRow) continue;
    numbers[i] = static_cast<std::int32_t>(i);
    for (std::int64_t j = 0; j < packed.rows; ++j) rows(numbers[i], j) = packed(j, ids[i]);
  }
  gather(rows, numbers);
}

}  // namespace

template <class T>
Var<T> embedding(Var<T> table, std::span<const std::int32_t> ids, T scale, Var<T> positions,
                 std::span<const std::int32_t> position, const Dropout& drop) {
  Tape<T>& tape = table.tape();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((ids[i] < 0 && ids[i] != kNoRow) || ids[i] >= table.rows()) {
      fail("embedding: id ", ids[i], " at row ", i, " is outside the vocabulary of ", table.rows());
    }
    if (positions && (position[i] < 0 || position[i] >= positions.rows())) {
      fail("embedding: position ", position[i], " is outside the table of ", positions.rows(), " positions");
    }
  }
  Var<T> y = tape.result(static_cast<std::int64_t>(ids.size()), table.cols());
  Matrix<T> out = tape.mutable_value(y);
  const auto gather = [&](Matrix<const T> from, std::span<const std::int32_t> rows) {
    gather_rows<T>(from, rows, scale, positions ? positions.value() : Matrix<const T>(), position, out);
  };
  const PackedWeights<T>* weights = tape.packed_weights();
  if (const PackedMatrix<T>* held = weights ? weights->in_place_of(table.value().t()) : nullptr)
    gather_columns(*held, ids, tape.arena(), gather);
  else
    gather(table.value(), ids);
  if (drop.active()) dropout<T>(drop, all(Matrix<const T>(out)), all(out));
  tape.on_backward(y, [=, &tape] {
    Matrix<T> d_y = tape.gradient(y);
    if (drop.active()) dropout<T>(drop, all(Matrix<const T>(d_y)), all(d_y));  // d_y is not needed again
    if (tape.wants_gradient(table)) scatter_add_rows<T>(ids, scale, d_y, tape.gradient(table));
    if (tape.wants_gradient(positions)) scatter_add_rows<T>(position, T{1}, d_y, tape.gradient(positions));
  });
  return y;
}

template <class T>
SumAndNorm<T> add_layer_norm(Var<T> x, Var<T> sub, const Dropout& drop, Var<T> gamma, Var<T> beta, T eps) {
  Tape<T>& tape = x.tape();
  const std::int64_t n = x.rows(), d = x.cols();
  if (gamma.cols() != d || beta.cols() != d || (sub && (sub.rows() != n || sub.cols() != d))) {
    fail("layer_norm: x [", n, ", ", d, "] does not fit gamma [", gamma.cols(), "] or the sublayer's output");
  }
  expect_dense("layer_norm", x);
  const auto width = static_cast<std::size_t>(d);
  SumAndNorm<T> result;
  result.sum = sub ? tape.result(n, d) : x;
  result.output = tape.result(n, d);
  std::span<T> mean(tape.arena().template allocate<T>(n), static_cast<std::size_t>(n));
  std::span<T> rstd(tape.arena().template allocate<T>(n), static_cast<std::size_t>(n));
  add_layer_norm<T>(x.value(), sub ? sub.value() : Matrix<const T>(), drop, {gamma.value().data, width},
                    {beta.value().data, width}, eps, tape.mutable_value(result.sum),
                    tape.mutable_value(result.output), mean, rstd);
  const Var<T> sum = result.sum, y = result.output;
  tape.on_backward(y, [=, &tape] {
    // The norm's parameters are always trained together; without gradients for them a scratch row takes the
    // sums.
    std::vector<T> unwanted(tape.wants_gradient(gamma) ? 0 : 2 * width);
    T* d_gamma = unwanted.empty() ? tape.gradient(gamma).data : unwanted.data();
    T* d_beta = unwanted.empty() ? tape.gradient(beta).data : unwanted.data() + width;
    Matrix<T> d_y = tape.gradient(y);
    layer_norm_backward<T>(sum.value(), mean, rstd, {gamma.value().data, width}, d_y, d_y, {d_gamma, width},
                           {d_beta, width});
    tape.add_gradient(x, d_y);
    add_dropped_gradient<T>(tape, sub, d_y, drop);
  });
  return result;
}

template <class T>
Var<T> rms_norm(Var<T> x, Var<T> gamma, T eps) {
  Tape<T>& tape = x.tape();
  const std::int64_t d = gamma.cols();
  if (d == 0 || x.cols() % d)
    fail("rms_norm: x [", x.rows(), ", ", x.cols(), "] does not fit gamma [", d, "]");
  const auto runs = static_cast<std::size_t>(x.rows() * (x.cols() / d));
  const std::span<T> rstd(tape.arena().template allocate<T>(static_cast<std::int64_t>(runs)), runs);
  Var<T> y = tape.result(x.rows(), x.cols());
  rms_norm<T>(x.value(), row_span(gamma.value(), 0), eps, tape.mutable_value(y), rstd);
  tape.on_backward(y, [=, &tape] {
    // Where only one of the two is wanted, the other goes to scratch rows.
    auto gradient_of = [&](Var<T> v) {
      if (tape.wants_gradient(v)) return tape.gradient(v);
      const Matrix<T> unwanted = tape.arena().template matrix<T>(v.rows(), v.cols());
      fill<T>(all(unwanted), T{0});
      return unwanted;
    };
    rms_norm_backward<T>(x.value(), rstd, row_span(gamma.value(), 0), tape.gradient(y), gradient_of(x),
                         row_span(gradient_of(gamma), 0));
  });
  return y;
}

template <class T>
Var<T> rotate(Var<T> x, Matrix<const T> turns, std::span<const std::int32_t> position, std::int64_t d) {
  Tape<T>& tape = x.tape();
  if (turns.cols % 2 || turns.cols > d || x.cols() % d ||
      static_cast<std::int64_t>(position.size()) != x.rows()) {
    fail("rotate: x [", x.rows(), ", ", x.cols(), "] does not fit heads of ", d, " of which ", turns.cols,
         " turn, or ", position.size(), " positions");
  }
  for (const std::int32_t at : position)
    if (at < 0 || at >= turns.rows) fail("rotate: position ", at, " is outside the table of ", turns.rows);
  Var<T> y = tape.result(x.rows(), x.cols());
  rotate_rows<T>(x.value(), turns, position, d, tape.mutable_value(y));
  tape.on_backward(y, [=, &tape] {
    if (tape.wants_gradient(x))
      rotate_rows_backward<T>(tape.gradient(y), turns, position, d, tape.gradient(x));
  });
  return y;
}

HEED_INSTANTIATE(add)
HEED_INSTANTIATE(multiply)
HEED_INSTANTIATE(scaled)
HEED_INSTANTIATE(rotate)
HEED_INSTANTIATE(add_dropped)
HEED_INSTANTIATE(activate)
HEED_INSTANTIATE(drop_out)
HEED_INSTANTIATE(embedding)
template Var<float> rms_norm(Var<float>, Var<float>, float);
template Var<double> rms_norm(Var<double>, Var<double>, double);
template SumAndNorm<float> add_layer_norm(Var<float>, Var<float>, const Dropout&, Var<float>, Var<float>,
                                          float);
template SumAndNorm<double> add_layer_norm(Var<double>, Var<double>, const Dropout&, Var<double>, Var<double>,
                                           double);

}  // namespace heed
