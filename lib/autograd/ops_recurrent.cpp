#include "autograd/ops_recurrent.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

template <class T>
void expect_same_shape(const char* op, Var<T> a, Var<T> b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    fail(op, ": [", a.rows(), ", ", a.cols(), "] and [", b.rows(), ", ", b.cols(), "] differ");
  }
}

/// y = onto, or zeros when there is none.
template <class T>
void start_from(Var<T> onto, Matrix<T> y) {
  if (onto) {
    copy_rows<T>(onto.value(), y);
  } else {
    std::fill_n(y.data, y.size(), T{0});
  }
}

}  // namespace

template <class T>
Var<T> select_rows(const std::vector<Var<T>>& parts, const std::vector<RowOf>& rows) {
  Tape<T>& tape = parts.at(0).tape();
  Var<T> y = tape.result(static_cast<std::int64_t>(rows.size()), parts[0].cols());
  Matrix<T> out = tape.mutable_value(y);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Matrix<const T> part = parts.at(static_cast<std::size_t>(rows[i].part)).value();
    if (rows[i].row < 0 || rows[i].row >= part.rows || part.cols != out.cols) {
      fail("select_rows: row ", rows[i].row, " of [", part.rows, ", ", part.cols, "] for width ", out.cols);
    }
    std::copy_n(part.row(rows[i].row), part.cols, out.row(static_cast<std::int64_t>(i)));
  }
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    std::vector<Matrix<T>> d_parts(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (tape.wants_gradient(parts[p])) d_parts[p] = tape.gradient(parts[p]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Matrix<T> d_part = d_parts[static_cast<std::size_t>(rows[i].part)];
      if (d_part.data) {
        add_to<T>(row_span(d_y, static_cast<std::int64_t>(i)), row_span(d_part, rows[i].row));
      }
    }
  });
  return y;
}

template <class T>
Var<T> side_by_side(Var<T> a, Var<T> b) {
  if (a.rows() != b.rows()) fail("side_by_side: ", a.rows(), " rows beside ", b.rows());
  Tape<T>& tape = a.tape();
  const std::int64_t d = a.cols(), k = b.cols();
  Var<T> y = tape.result(a.rows(), d + k);
  copy_rows<T>(a.value(), tape.mutable_value(y).columns(0, d));
  copy_rows<T>(b.value(), tape.mutable_value(y).columns(d, k));
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    tape.add_gradient(a, d_y.columns(0, d));
    tape.add_gradient(b, d_y.columns(d, k));
  });
  return y;
}

template <class T>
Var<T> maxout(Var<T> x) {
  if (x.cols() % 2) fail("maxout: needs an even width, got ", x.cols());
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols() / 2);
  const Matrix<const T> in = x.value();
  const Matrix<T> out = tape.mutable_value(y);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = std::max(in(i, 2 * j), in(i, 2 * j + 1));
  }
  tape.on_backward(y, [=, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    const Matrix<T> d_x = tape.gradient(x);
    for (std::int64_t i = 0; i < d_y.rows; ++i) {
      for (std::int64_t j = 0; j < d_y.cols; ++j) {
        d_x(i, 2 * j + (in(i, 2 * j) < in(i, 2 * j + 1))) += d_y(i, j);
      }
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

template <class T>
Var<T> running_mean(Var<T> x, Var<T> f, const Packing& rows, Var<T> start) {
  expect_same_shape("running_mean", x, f);
  if (start.rows() != rows.sentences() || start.cols() != x.cols() || x.rows() != rows.rows())
    fail("running_mean: [", x.rows(), ", ", x.cols(), "] in ", rows.sentences(), " sequences of ",
         rows.rows(), " rows, and a start of [", start.rows(), ", ", start.cols(), "]");
  Tape<T>& tape = x.tape();
  Var<T> y = tape.result(x.rows(), x.cols());
  const Matrix<T> out = tape.mutable_value(y);
  const Matrix<const T> in = x.value(), share = f.value(), first = start.value();
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    const T* before = first.row(s);
    for (std::int64_t t = rows.offset(s); t < rows.offset(s + 1); before = out.row(t++))
      for (std::int64_t j = 0; j < out.cols; ++j)
        out(t, j) = share(t, j) * before[j] + (1 - share(t, j)) * in(t, j);
  }
  tape.on_backward(y, [=, &rows, &tape] {
    const Matrix<const T> d_y = tape.gradient(y), was = y.value();
    const Matrix<T> d_x = tape.gradient(x), d_f = tape.gradient(f);
    std::vector<T> carried(static_cast<std::size_t>(d_y.cols));  // d y_t, of all that comes after it
    for (std::int64_t s = 0; s < rows.sentences(); ++s) {
      std::ranges::fill(carried, T{0});
      for (std::int64_t t = rows.offset(s + 1) - 1; t >= rows.offset(s); --t) {
        const T* before = t > rows.offset(s) ? was.row(t - 1) : first.row(s);
        for (std::int64_t j = 0; j < d_y.cols; ++j) {
          T& d = carried[static_cast<std::size_t>(j)];
          d += d_y(t, j);
          d_x(t, j) += (1 - share(t, j)) * d;
          d_f(t, j) += (before[j] - in(t, j)) * d;
          d *= share(t, j);
        }
      }
      if (tape.wants_gradient(start))
        add_to<T>(std::span<const T>(carried), row_span(tape.gradient(start), s));
    }
  });
  return y;
}

template <class T>
StepLinear<T>::StepLinear(Var<T> weight, std::int64_t rows, Var<T> bias)
    : weight_(weight),
      bias_(bias),
      outputs_(weight.tape().result(rows, weight.cols())),
      rows_(std::make_shared<Rows>(weight, rows)) {
  Tape<T>& tape = weight.tape();
  if (!tape.with_gradients()) return;
  rows_->inputs = tape.arena().template matrix<T>(rows, weight.rows());
  // Recorded before all steps, so it runs after all of theirs.
  tape.on_backward(outputs_, [w = weight_, b = bias_, y = outputs_, all = rows_, &tape] {
    all->product.end_backward();
    const Matrix<const T> x = all->inputs.row_range(0, all->used);
    const Matrix<const T> d_y = tape.gradient(y).row_range(0, all->used);
    if (tape.wants_gradient(b)) sum_rows<T>(d_y, row_span(tape.gradient(b), 0));
    if (!tape.wants_gradient(w)) return;
    T beta;
    const Matrix<T> d_w = tape.gradient(w, beta);
    gemm<T>(tape.precision(), x.t(), d_y, beta, d_w);
  });
}

template <class T>
Var<T> StepLinear<T>::operator()(Var<T> x, Var<T> onto) {
  Tape<T>& tape = weight_.tape();
  const std::int64_t n = x.rows(), first = rows_->used;
  if (x.cols() != weight_.rows() || first + n > outputs_.rows()) {
    fail("step: rows ", first, " to ", first + n, " of width ", x.cols(), " do not fit ", outputs_.rows(),
         " rows and the weight [", weight_.rows(), ", ", weight_.cols(), "]");
  }
  rows_->used += n;
  Var<T> y = tape.row_range(outputs_, first, n);
  const Matrix<T> out = tape.mutable_value(y);
  if (onto) expect_same_shape("step", onto, y);
  start_from(onto, out);
  if (bias_) {
    for (std::int64_t i = 0; i < n; ++i) add_to<T>(row_span(bias_.value(), 0), row_span(out, i));
  }
  rows_->product.forward(x.value(), true, out);
  if (!tape.with_gradients()) return y;
  copy_rows<T>(x.value(), rows_->inputs.row_range(first, n));
  tape.on_backward(y, [=, all = rows_, &tape] {
    const Matrix<const T> d_y = tape.gradient(y);
    all->product.end_forward();
    tape.add_gradient(onto, d_y);
    if (tape.wants_gradient(x)) {
      T beta;
      const Matrix<T> d_x = tape.gradient(x, beta);
      all->product.backward(d_y, beta != 0, d_x);
    }
  });
  return y;
}

template <class T>
CellSteps<T>::CellSteps(const CellParameters<T>& parameters, std::int64_t rows)
    : end_(parameters.recurrent.tape().result(1, 1)), run_(std::make_shared<CellRun<T>>(parameters, rows)) {
  end_.tape().on_backward(end_, [run = run_] { run->finish(); });
}

namespace {

template <class T>
Matrix<const T> value_or_none(Var<T> v) {
  return v ? v.value() : Matrix<const T>();
}

}  // namespace

template <class T>
Var<T> CellSteps<T>::operator()(Var<T> x, Var<T> state, Var<T> extra, const CellObserver<T>& observer) {
  Tape<T>& tape = end_.tape();
  Var<T> y = tape.result(state.rows(), state.cols());
  const std::size_t step =
      run_->forward(x.value(), value_or_none(extra), state.value(), tape.mutable_value(y), observer);
  tape.on_backward(y, [=, run = run_, end = end_, &tape] {
    const Matrix<T> d_state = tape.gradient(y);  // not needed again
    run->backward(step, state.value(), y.value(), d_state);
    tape.gradient(end);
    tape.add_gradient(x, run->d_x(step));
    tape.add_gradient(extra, run->d_extra(step));
    tape.add_gradient(state, d_state);
  });
  return y;
}

template <class T>
Var<T> cell_layer(const CellParameters<T>& parameters, Var<T> x, std::span<const std::int64_t> first,
                  Var<T> start, Var<T> extra, const CellObserver<T>& observer) {
  Tape<T>& tape = x.tape();
  const auto steps = static_cast<std::int64_t>(first.size()) - 1;
  const std::int64_t width = parameters.state_width();
  auto run = std::make_shared<CellRun<T>>(parameters, x.rows());
  const std::span<const std::int64_t> begin = tape.arena().template keep<std::int64_t>(first);
  Matrix<const T> initial = value_or_none(start);
  if (!start) {
    const Matrix<T> zero = tape.arena().template matrix<T>(steps > 0 ? first[1] : 0, width);
    std::fill_n(zero.data, zero.size(), T{0});
    initial = zero;
  }
  Var<T> y = tape.result(x.rows(), width);
  auto of_step = [=](auto matrix, std::int64_t t) {
    const auto at = static_cast<std::size_t>(t);
    return matrix.row_range(begin[at], begin[at + 1] - begin[at]);
  };
  auto before = [=](Matrix<const T> states, std::int64_t t) {
    const std::int64_t n = of_step(states, t).rows;
    return (t == 0 ? initial : of_step(states, t - 1)).row_range(0, n);
  };
  for (std::int64_t t = 0; t < steps; ++t) {
    const Matrix<const T> more = extra ? of_step(extra.value(), t) : Matrix<const T>();
    run->forward(of_step(x.value(), t), more, before(y.value(), t), of_step(tape.mutable_value(y), t),
                 observer);
  }
  run->end_forward();
  tape.on_backward(y, [=, &tape] {
    const Matrix<T> d_y = tape.gradient(y);  // not needed again
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      const Matrix<T> d_state = of_step(d_y, t);
      run->backward(static_cast<std::size_t>(t), before(y.value(), t), of_step(y.value(), t), d_state);
      if (t > 0) {
        add_rows<T>(d_state, of_step(d_y, t - 1).row_range(0, d_state.rows));
      } else {
        tape.add_gradient(start, d_state);
      }
    }
    run->finish();
    tape.add_gradient(x, run->d_x());
    tape.add_gradient(extra, run->d_extra());
  });
  return y;
}

HEED_INSTANTIATE(select_rows)
HEED_INSTANTIATE(side_by_side)
HEED_INSTANTIATE(maxout)
HEED_INSTANTIATE_CLASS(CellSteps)
HEED_INSTANTIATE(cell_layer)
HEED_INSTANTIATE(scale_rows)
HEED_INSTANTIATE(running_mean)
HEED_INSTANTIATE_CLASS(StepLinear)

}  // namespace heed
