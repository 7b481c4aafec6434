#include "autograd/recurrent_cell.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

constexpr GateRange kUpdateAndReset{0, 2}, kCandidate{2, 1};

template <class T>
void copy_rows(Matrix<const T> from, Matrix<T> to) {
  for (std::int64_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
}

template <class T>
void fill_rows(T value, Matrix<T> m) {
  for (std::int64_t i = 0; i < m.rows; ++i) std::fill_n(m.row(i), m.cols, value);
}

template <class T>
std::span<T> row_span(Matrix<T> m, std::int64_t row) {
  return {m.row(row), static_cast<std::size_t>(m.cols)};
}

/// sum += a(i) b(i) of all rows i.
template <class T>
void add_products(Matrix<const T> a, Matrix<const T> b, Matrix<T> sum) {
  for (std::int64_t i = 0; i < a.rows; ++i) multiply_add<T>(a.row_range(i, 1), b.row_range(i, 1), sum);
}

}  // namespace

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

std::vector<GateRange> normed_together(Cell cell) {
  if (cell == Cell::gru || cell == Cell::gru_reset_after) return {kUpdateAndReset, kCandidate};
  return {{0, gate_count(cell)}};
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
  const bool gru = parameters.cell == Cell::gru || parameters.cell == Cell::gru_reset_after;
  if (gru) second_ = spread(rows, d_);
  if (!parameters.norm) return;
  raw_ = spread(rows, gates_.cols);
  for (GateRange gates : normed_together(parameters.cell)) {
    norms_.emplace_back(tape_->columns(parameters.norm, gates.first * d_, gates.count * d_), Var<T>(), rows);
  }
  if (parameters.cell != Cell::lstm) return;
  norms_.emplace_back(parameters.cell_gamma, parameters.cell_beta, rows);
  normed_c_ = spread(rows, d_);
}

template <class T>
Matrix<T> CellRun<T>::spread(std::int64_t rows, std::int64_t cols) {
  const std::int64_t stride = spread_stride(cols);
  return {tape_->arena().template allocate<T>(rows * stride), rows, cols, stride};
}

template <class T>
void CellRun<T>::read_state(std::size_t step, Matrix<const T> before) {
  const Matrix<T> h = of_step(h_, step);
  if (!parameters_.drop.active()) return copy_rows<T>(before.columns(0, d_), h);
  if (mask_.data == nullptr) {
    mask_ = tape_->arena().template matrix<T>(h.rows, d_);
    fill_rows<T>(1, mask_);
    const std::span<T> all(mask_.data, static_cast<std::size_t>(mask_.size()));
    dropout<T>(parameters_.drop, all, all);
  }
  fill_rows<T>(0, h);
  multiply_add<T>(before.columns(0, d_), mask_.row_range(0, h.rows), h);
}

template <class T>
void CellRun<T>::multiply(std::size_t step, GateRange gates, Matrix<const T> input, Matrix<const T> extra,
                          const CellObserver<T>& observer) {
  const Matrix<T> sums = columns(of_step(gates_, step), gates);
  if (extra.data) extra = extra.columns(gates.first * d_, gates.count * d_);
  if (norms_.empty()) {
    if (extra.data) copy_rows<T>(extra, sums);
    return gemm<T>(1, input, weight(gates), extra.data ? 1 : 0, sums);
  }
  gemm<T>(1, input, weight(gates), 0, columns(of_step(raw_, step), gates));
  const std::vector<GateRange> together = normed_together(parameters_.cell);
  for (std::size_t i = 0; i < together.size(); ++i) {
    if (together[i].first < gates.first || together[i].first >= gates.first + gates.count) continue;
    norms_[i].forward(steps_[step].first, columns(of_step(raw_, step), together[i]),
                      columns(of_step(gates_, step), together[i]));
  }
  for (std::int64_t gate = gates.first; observer.observe && gate < gates.first + gates.count; ++gate)
    observer.observe(step, {CellPart::normed_product, gate}, columns(of_step(gates_, step), {gate, 1}));
  for (std::int64_t i = 0; extra.data && i < sums.rows; ++i) add_to<T>(row_span(extra, i), row_span(sums, i));
}

template <class T>
void CellRun<T>::multiply_backward(std::size_t step, GateRange gates, T beta, Matrix<T> d_input) {
  const std::vector<GateRange> together = normed_together(parameters_.cell);
  for (std::size_t i = 0; i < together.size() && !norms_.empty(); ++i) {
    if (together[i].first < gates.first || together[i].first >= gates.first + gates.count) continue;
    norms_[i].backward(steps_[step].first, columns(of_step(raw_, step), together[i]),
                       columns(of_step(d_extra_, step), together[i]),
                       columns(of_step(d_products_, step), together[i]));
  }
  const Matrix<const T> d_products = columns(of_step(d_products_, step), gates);
  if (mask_.data == nullptr) return gemm<T>(1, d_products, weight(gates).t(), beta, d_input);
  const Matrix<T> d_masked = scratch_.row_range(0, d_input.rows);
  gemm<T>(1, d_products, weight(gates).t(), 0, d_masked);
  if (beta == T{0}) fill_rows<T>(0, d_input);
  multiply_add<T>(d_masked, mask_.row_range(0, d_input.rows), d_input);
}

template <class T>
std::size_t CellRun<T>::forward(Matrix<const T> x, Matrix<const T> extra, Matrix<const T> before,
                                Matrix<T> after, const CellObserver<T>& observer) {
  const std::int64_t first = used_, n = after.rows;
  if (first + n > rows_ || x.rows != n || before.rows != n || x.cols != gates_.cols ||
      before.cols != after.cols || (extra.data && (extra.rows != n || extra.cols != x.cols)) ||
      after.cols != state_width(parameters_)) {
    fail("recurrent step: x [", x.rows, ", ", x.cols, "] and the state [", before.rows, ", ", before.cols,
         "] do not fit ", n, " rows after ", first, " of ", rows_, ", of width ", d_);
  }
  const std::size_t step = steps_.size();
  steps_.push_back({first, n});
  used_ += n;
  most_ = std::max(most_, n);
  read_state(step, before);
  const Matrix<T> gates = of_step(gates_, step);
  const Matrix<const T> h = of_step(h_, step), h_prev = before.columns(0, d_);
  multiply(step, two_products() ? kUpdateAndReset : GateRange{0, gates.cols / d_}, h, extra, observer);
  auto observe = [&](CellPart part, Matrix<T> value) {
    if (observer.observe) observer.observe(step, part, value);
  };
  auto observe_gate = [&](std::int64_t gate) { observe({CellPart::gate, gate}, columns(gates, {gate, 1})); };
  switch (parameters_.cell) {
    case Cell::rnn:
      rnn_forward<T>(x, gates, after);
      observe({CellPart::gate}, after);
      break;
    case Cell::gru: {
      const Matrix<T> reset = of_step(second_, step);
      gru_gates<T>(x, gates, h, reset);
      observe_gate(0), observe_gate(1);
      if (observer.changes) {
        fill_rows<T>(0, reset);
        multiply_add<T>(columns(gates, {1, 1}), h, reset);
      }
      multiply(step, kCandidate, reset, extra, observer);
      gru_state<T>(x, gates, h_prev, after);
      observe_gate(2);
      if (observer.changes) mix(step, h_prev, after);
      break;
    }
    case Cell::gru_reset_after:
      gru_after_forward<T>(x, gates, parameters_.candidate_bias.value(), h_prev, of_step(second_, step),
                           after);
      observe_gate(0), observe_gate(1);
      for (std::int64_t i = 0; observer.changes && i < n; ++i) {  // g = tanh(x + r * what r stands before)
        for (std::int64_t j = 0; j < d_; ++j)
          gates(i, 2 * d_ + j) =
              std::tanh(x(i, 2 * d_ + j) + gates(i, d_ + j) * of_step(second_, step)(i, j));
      }
      observe_gate(2);
      if (observer.changes) mix(step, h_prev, after);
      break;
    case Cell::lstm: {
      const Matrix<const T> c_prev = before.columns(d_, d_);
      const Matrix<T> c = after.columns(d_, d_), o = columns(gates, {2, 1});
      Matrix<T> o_sum;  // the peephole of o reads c: when c was edited, o is computed again
      if (observer.changes && parameters_.peepholes[2]) {
        o_sum = tape_->arena().template matrix<T>(n, d_);
        copy_rows<T>(o, o_sum);
        for (std::int64_t i = 0; i < n; ++i)
          add_to<T>(row_span(x.columns(2 * d_, d_), i), row_span(o_sum, i));
      }
      lstm_memory<T>(x, gates, peepholes(), c_prev, c);
      observe_gate(0), observe_gate(1), observe_gate(3);
      if (observer.changes) {
        fill_rows<T>(0, c);
        multiply_add<T>(columns(gates, {0, 1}), columns(gates, {3, 1}), c);
        multiply_add<T>(columns(gates, {1, 1}), c_prev, c);
      }
      observe({CellPart::cell}, c);
      if (o_sum.data) {
        for (std::int64_t i = 0; i < n; ++i)
          multiply_add<T>(parameters_.peepholes[2].value(), c.row_range(i, 1), o_sum.row_range(i, 1));
        bias_activation_dropout<T>({}, Activation::sigmoid, Dropout{}, o_sum);
        copy_rows<T>(o_sum, o);
      }
      observe_gate(2);
      if (normed_c_.data) {
        norms_.back().forward(first, c, of_step(normed_c_, step));
        observe({CellPart::normed_cell}, of_step(normed_c_, step));
      }
      lstm_output<T>(gates, normed_c_.data ? of_step(normed_c_, step) : c, after.columns(0, d_));
      break;
    }
  }
  observe({CellPart::hidden}, after.columns(0, d_));
  return step;
}

template <class T>
void CellRun<T>::mix(std::size_t step, Matrix<const T> h_prev, Matrix<T> h) const {
  const Matrix<const T> gates = of_step(gates_, step);
  for (std::int64_t i = 0; i < h.rows; ++i) {
    for (std::int64_t j = 0; j < d_; ++j) {
      const T z = gates(i, j);
      h(i, j) = (1 - z) * h_prev(i, j) + z * gates(i, 2 * d_ + j);
    }
  }
}

template <class T>
Peepholes<T> CellRun<T>::peepholes() const {
  Peepholes<T> weights;
  if (!parameters_.peepholes[0]) return weights;
  weights = {parameters_.peepholes[0].value().data, parameters_.peepholes[1].value().data,
             parameters_.peepholes[2].value().data};
  return weights;
}

template <class T>
void CellRun<T>::start_backward() {
  if (d_sums_.data) return;
  d_sums_ = d_extra_ = spread(rows_, gates_.cols);
  if (parameters_.cell == Cell::gru_reset_after) d_extra_ = spread(rows_, gates_.cols);
  d_products_ = norms_.empty() ? d_extra_ : spread(rows_, gates_.cols);
  scratch_ = spread(most_, d_);
  if (two_products()) d_second_ = spread(most_, d_);
}

/// From the gradient of (h, c): that of c on all ways, in place, and of the output gate.
template <class T>
void CellRun<T>::lstm_through_output(std::size_t step, Matrix<const T> c, Matrix<T> d_state) {
  const Matrix<T> gates = of_step(gates_, step), d_sums = of_step(d_sums_, step),
                  d_h = d_state.columns(0, d_), d_c = d_state.columns(d_, d_);
  if (!normed_c_.data) return lstm_output_backward<T>(gates, c, d_h, d_sums, d_c);
  const Matrix<T> d_normed = scratch_.row_range(0, c.rows);
  fill_rows<T>(0, d_normed);
  lstm_output_backward<T>(gates, of_step(normed_c_, step), d_h, d_sums, d_normed);
  norms_.back().backward(steps_[step].first, c, d_normed, d_normed);
  for (std::int64_t i = 0; i < c.rows; ++i) add_to<T>(row_span<const T>(d_normed, i), row_span(d_c, i));
}

template <class T>
void CellRun<T>::backward(std::size_t step, Matrix<const T> before, Matrix<const T> after,
                          Matrix<T> d_state) {
  start_backward();
  steps_[step].passed = true;
  const Matrix<T> gates = of_step(gates_, step), d_h = d_state.columns(0, d_),
                  d_sums = of_step(d_sums_, step);
  const Matrix<const T> h_prev = before.columns(0, d_);
  const GateRange all{0, gates.cols / d_};
  switch (parameters_.cell) {
    case Cell::rnn:
      rnn_backward<T>(after, d_h, d_sums);
      multiply_backward(step, all, 0, d_h);
      break;
    case Cell::gru: {
      gru_state_backward<T>(gates, h_prev, d_h, d_sums);
      // With dropout this is by r h', not by what U reads of it: the mask is in already.
      const Matrix<T> d_reset = d_second_.row_range(0, d_h.rows);
      multiply_backward(step, kCandidate, 0, d_reset);
      gru_gates_backward<T>(gates, h_prev, d_reset, d_h, d_sums);
      multiply_backward(step, kUpdateAndReset, 1, d_h);
      break;
    }
    case Cell::gru_reset_after:
      gru_after_backward<T>(gates, of_step(second_, step), h_prev, d_h, d_sums, of_step(d_extra_, step));
      multiply_backward(step, all, 1, d_h);
      break;
    case Cell::lstm: {
      const Matrix<const T> c_prev = before.columns(d_, d_), c = after.columns(d_, d_);
      lstm_through_output(step, c, d_state);
      lstm_memory_backward<T>(gates, peepholes(), c_prev, d_state.columns(d_, d_), d_sums);
      for (std::int64_t gate = 0; gate < 3; ++gate) {
        const Var<T> peephole = parameters_.peepholes[gate];
        if (!tape_->wants_gradient(peephole)) continue;
        add_products<T>(d_sums.columns(gate * d_, d_), gate == 2 ? c : c_prev, tape_->gradient(peephole));
      }
      multiply_backward(step, all, 0, d_h);
      break;
    }
  }
}

template <class T>
void CellRun<T>::finish() {
  if (d_sums_.data == nullptr) return;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].passed) continue;
    fill_rows<T>(0, of_step(d_extra_, i));
    fill_rows<T>(0, of_step(d_products_, i));
  }
  const Var<T> bias = parameters_.candidate_bias, u = parameters_.recurrent;
  if (tape_->wants_gradient(bias))
    sum_rows<T>(columns(d_extra_.row_range(0, used_), kCandidate), row_span(tape_->gradient(bias), 0));
  if (!tape_->wants_gradient(u)) return;
  T beta;
  const Matrix<T> d_u = tape_->gradient(u, beta);
  auto add_product = [&](GateRange gates, Matrix<T> input) {
    const Matrix<const T> d_products = columns(d_products_, gates).row_range(0, used_);
    gemm<T>(1, input.row_range(0, used_).t(), d_products, beta, columns(d_u, gates));
  };
  add_product(two_products() ? kUpdateAndReset : GateRange{0, gates_.cols / d_}, h_);
  if (two_products()) add_product(kCandidate, second_);
}

template class CellRun<float>;
template class CellRun<double>;

}  // namespace heed
