#include "autograd/recurrent_cell.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/kernels_recurrent.h"

namespace heed {

std::int64_t gate_count(Cell cell) {
  switch (cell) {
    case Cell::rnn:
      return 1;
    case Cell::gru:
    case Cell::gru_reset_after:
      return 3;
    case Cell::lstm:
      return 4;
  }
  return 0;
}

template <class T>
CellRun<T>::CellRun(const CellParameters<T>& parameters, std::int64_t rows)
    : parameters_(parameters),
      tape_(&parameters.recurrent.tape()),
      d_(parameters.recurrent.rows()),
      rows_(rows),
      h_(spread(rows, d_)),
      gates_(spread(rows, gate_count(parameters.cell) * d_)) {
  const Var<T> u = parameters.recurrent;
  if (u.cols() != gates_.cols)
    fail("recurrent: U [", u.rows(), ", ", u.cols(), "], wanted ", gates_.cols, " columns");
  if (parameters.cell == Cell::gru || parameters.cell == Cell::gru_reset_after) second_ = spread(rows, d_);
}

template <class T>
Matrix<T> CellRun<T>::spread(std::int64_t rows, std::int64_t cols) {
  const std::int64_t stride = spread_stride(cols);
  return {tape_->arena().template allocate<T>(rows * stride), rows, cols, stride};
}

template <class T>
std::size_t CellRun<T>::forward(Matrix<const T> x, Matrix<const T> extra, Matrix<const T> before,
                                Matrix<T> after) {
  const std::int64_t first = used_, n = after.rows;
  if (first + n > rows_ || x.rows != n || before.rows != n || x.cols != gates_.cols ||
      before.cols != after.cols || (extra.data && (extra.rows != n || extra.cols != x.cols)) ||
      after.cols != state_width(parameters_)) {
    fail("recurrent step: x [", x.rows, ", ", x.cols, "] and the state [", before.rows, ", ", before.cols,
         "] do not fit ", n, " rows behind ", first, " of ", rows_, ", of width ", d_);
  }
  const std::size_t step = steps_.size();
  steps_.push_back({first, n});
  used_ += n;
  most_ = std::max(most_, n);
  const Matrix<T> h = of_step(h_, step), gates = of_step(gates_, step);
  for (std::int64_t i = 0; i < n; ++i) {
    std::copy_n(before.row(i), d_, h.row(i));
    if (extra.data) std::copy_n(extra.row(i), extra.cols, gates.row(i));
  }
  const T beta = extra.data ? 1 : 0;
  const Matrix<const T> u = parameters_.recurrent.value();
  if (parameters_.cell == Cell::gru) {
    const Matrix<T> reset = of_step(second_, step);
    gemm<T>(1, h, u.columns(0, 2 * d_), beta, gates.columns(0, 2 * d_));
    gru_gates<T>(x, gates, h, reset);
    gemm<T>(1, reset, u.columns(2 * d_, d_), beta, gates.columns(2 * d_, d_));
    gru_state<T>(x, gates, h, after);
    return step;
  }
  gemm<T>(1, h, u, beta, gates);
  switch (parameters_.cell) {
    case Cell::rnn:
      rnn_forward<T>(x, gates, after);
      break;
    case Cell::gru_reset_after:
      gru_after_forward<T>(x, gates, parameters_.candidate_bias.value(), h, of_step(second_, step), after);
      break;
    case Cell::lstm:
      lstm_forward<T>(x, gates, before.columns(d_, d_), after);
      break;
    case Cell::gru:
      break;
  }
  return step;
}

template <class T>
void CellRun<T>::backward(std::size_t step, Matrix<const T> before, Matrix<const T> after,
                          Matrix<T> d_state) {
  if (d_sums_.data == nullptr) {
    d_sums_ = d_products_ = spread(rows_, gates_.cols);
    if (parameters_.cell == Cell::gru_reset_after) d_products_ = spread(rows_, gates_.cols);
    scratch_ = spread(most_, d_);
  }
  steps_[step].passed = true;
  const Matrix<T> h = of_step(h_, step), gates = of_step(gates_, step), d_h = d_state.columns(0, d_),
                  d_sums = of_step(d_sums_, step), d_products = of_step(d_products_, step);
  const Matrix<const T> u = parameters_.recurrent.value();
  switch (parameters_.cell) {
    case Cell::rnn:
      rnn_backward<T>(after, d_h, d_sums);
      gemm<T>(1, d_products, u.t(), 0, d_h);
      break;
    case Cell::gru: {
      const Matrix<T> d_reset = scratch_.row_range(0, h.rows);
      gru_state_backward<T>(gates, h, d_h, d_sums);
      gemm<T>(1, d_products.columns(2 * d_, d_), u.columns(2 * d_, d_).t(), 0, d_reset);
      gru_gates_backward<T>(gates, h, d_reset, d_h, d_sums);
      gemm<T>(1, d_products.columns(0, 2 * d_), u.columns(0, 2 * d_).t(), 1, d_h);
      break;
    }
    case Cell::gru_reset_after:
      gru_after_backward<T>(gates, of_step(second_, step), h, d_h, d_sums, d_products);
      gemm<T>(1, d_products, u.t(), 1, d_h);
      break;
    case Cell::lstm:
      lstm_backward<T>(gates, before.columns(d_, d_), after, d_state, d_sums);
      gemm<T>(1, d_products, u.t(), 0, d_h);
      break;
  }
}

template <class T>
void CellRun<T>::finish() {
  if (d_sums_.data == nullptr) return;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].passed) continue;
    const Matrix<T> unread = of_step(d_products_, i);
    for (std::int64_t row = 0; row < unread.rows; ++row) std::fill_n(unread.row(row), unread.cols, T{0});
  }
  const Matrix<const T> h = h_.row_range(0, used_), d_products = d_products_.row_range(0, used_);
  const Var<T> bias = parameters_.candidate_bias, u = parameters_.recurrent;
  if (tape_->wants_gradient(bias)) {
    sum_rows<T>(d_products.columns(2 * d_, d_), {tape_->gradient(bias).data, static_cast<std::size_t>(d_)});
  }
  if (!tape_->wants_gradient(u)) return;
  T beta;
  const Matrix<T> d_u = tape_->gradient(u, beta);
  const std::int64_t from_h = parameters_.cell == Cell::gru ? 2 * d_ : d_u.cols;  // the others read r h'
  gemm<T>(1, h.t(), d_products.columns(0, from_h), beta, d_u.columns(0, from_h));
  if (from_h < d_u.cols) {
    gemm<T>(1, second_.row_range(0, used_).t(), d_products.columns(from_h, d_), beta,
            d_u.columns(from_h, d_));
  }
}

template class CellRun<float>;
template class CellRun<double>;

}  // namespace heed
