#include "autograd/recurrent_cell.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"

namespace heed {

template <class T>
CellRun<T>::CellRun(const CellParameters<T>& parameters, std::int64_t rows)
    : parameters_(parameters),
      cell_(*parameters.cell),
      tape_(&parameters.recurrent.tape()),
      d_(parameters.recurrent.rows()),
      rows_(rows),
      h_(spread(rows, d_)),
      gates_(spread(rows, cell_.gate_count() * d_)) {
  this->d = d_;
  const Var<T> u = parameters.recurrent;
  if (u.cols() != gates_.cols)
    fail("recurrent: U [", u.rows(), ", ", u.cols(), "], wanted ", gates_.cols, " columns");
  if (cell_.keeps) kept_ = spread(rows, d_);
  if (!parameters.norm) return;
  raw_ = spread(rows, gates_.cols);
  for (const GateRange gates : cell_.normed_together)
    norms_.emplace_back(tape_->columns(parameters.norm, gates.first * d_, gates.count * d_), Var<T>(), rows);
  if (cell_.norm.empty()) return;
  norms_.emplace_back(parameters.own_gamma, parameters.own_beta, rows);
  normed_ = spread(rows, d_);
}

template <class T>
Matrix<T> CellRun<T>::spread(std::int64_t rows, std::int64_t cols) {
  const std::int64_t stride = spread_stride(cols);
  return {tape_->arena().template allocate<T>(rows * stride), rows, cols, stride};
}

template <class T>
void CellRun<T>::enter(std::size_t step, Matrix<const T> before, Matrix<T> after) {
  now_ = step;
  this->before = before;
  this->after = after;
  this->h = of_step(h_, step);
  this->gates = of_step(gates_, step);
  this->kept = of_step(kept_, step);
  this->normed = of_step(normed_, step);
}

template <class T>
void CellRun<T>::read_state() {
  const Matrix<T> h = of_step(h_, now_);
  if (!parameters_.drop.active()) return copy_rows<T>(this->h_before(), h);
  if (mask_.data == nullptr) {
    mask_ = tape_->arena().template matrix<T>(h.rows, d_);
    fill_rows<T>(1, mask_);
    const std::span<T> all(mask_.data, static_cast<std::size_t>(mask_.size()));
    dropout<T>(parameters_.drop, all, all);
  }
  fill_rows<T>(0, h);
  multiply_add<T>(this->h_before(), mask_.row_range(0, h.rows), h);
}

template <class T>
template <class Visit>
void CellRun<T>::each_norm(GateRange gates, Visit&& visit) {
  const std::vector<GateRange>& together = cell_.normed_together;
  for (std::size_t i = 0; i < together.size() && !norms_.empty(); ++i) {
    if (together[i].first >= gates.first && together[i].first < gates.first + gates.count)
      visit(norms_[i], together[i]);
  }
}

template <class T>
StepProduct<T>& CellRun<T>::product_of(GateRange gates) {
  for (GateProduct& known : products_)
    if (known.gates.first == gates.first && known.gates.count == gates.count) return known.product;
  const Matrix<const T> u = columns(parameters_.recurrent.value(), gates);
  return products_.emplace_back(gates, StepProduct<T>(tape_->precision(), u, rows_)).product;
}

template <class T>
void CellRun<T>::multiply(GateRange gates, Matrix<const T> input) {
  const Matrix<T> sums = columns(this->gates, gates);
  const Matrix<const T> extra = extra_.data ? columns(extra_, gates) : extra_;
  StepProduct<T>& product = product_of(gates);
  if (norms_.empty()) {
    if (extra.data) copy_rows<T>(extra, sums);
    return product.forward(input, extra.data != nullptr, sums);
  }
  const Matrix<T> raw = of_step(raw_, now_);
  product.forward(input, false, columns(raw, gates));
  each_norm(gates, [&](StepNorm<T>& norm, GateRange range) {
    norm.forward(steps_[now_].first, columns(raw, range), columns(this->gates, range));
  });
  for (std::int64_t gate = gates.first; gate < gates.first + gates.count; ++gate)
    name("recurrent_norm/" + cell_.gates[static_cast<std::size_t>(gate)], this->gate(gate));
  if (extra.data) add_rows<T>(extra, sums);
}

template <class T>
void CellRun<T>::multiply_backward(GateRange gates, T beta, Matrix<T> d_input) {
  each_norm(gates, [&](StepNorm<T>& norm, GateRange range) {
    norm.backward(steps_[now_].first, columns(of_step(raw_, now_), range),
                  columns(of_step(d_extra_, now_), range), columns(of_step(d_products_, now_), range));
  });
  const Matrix<const T> d_products = columns(of_step(d_products_, now_), gates);
  StepProduct<T>& product = product_of(gates);
  if (mask_.data == nullptr) return product.backward(d_products, beta != 0, d_input);
  const Matrix<T> d_masked = masked_.row_range(0, d_input.rows);
  product.backward(d_products, false, d_masked);
  if (beta == T{0}) fill_rows<T>(0, d_input);
  multiply_add<T>(d_masked, mask_.row_range(0, d_input.rows), d_input);
}

template <class T>
Matrix<const T> CellRun<T>::parameter(std::size_t i) const {
  return parameters_.own[i] ? parameters_.own[i].value() : Matrix<const T>();
}

template <class T>
Matrix<T> CellRun<T>::gradient(std::size_t i) {
  const Var<T> own = parameters_.own[i];
  return tape_->wants_gradient(own) ? tape_->gradient(own) : Matrix<T>();
}

template <class T>
void CellRun<T>::normalize(Matrix<const T> s) {
  norms_.back().forward(steps_[now_].first, s, this->normed);
  name(cell_.norm + "/output", this->normed);
}

template <class T>
void CellRun<T>::normalize_backward(Matrix<const T> s, Matrix<T> d) {
  norms_.back().backward(steps_[now_].first, s, d, d);
}

template <class T>
void CellRun<T>::name(const std::string& value, Matrix<T> rows) {
  if (observer_->observe) observer_->observe(now_, value, rows);
}

template <class T>
void CellRun<T>::name_gate(std::int64_t gate, Matrix<T> rows) {
  name(cell_.gates[static_cast<std::size_t>(gate)], rows);
}

template <class T>
std::size_t CellRun<T>::forward(Matrix<const T> x, Matrix<const T> extra, Matrix<const T> before,
                                Matrix<T> after, const CellObserver<T>& observer) {
  const std::int64_t first = used_, n = after.rows;
  if (first + n > rows_ || x.rows != n || before.rows != n || x.cols != gates_.cols ||
      before.cols != after.cols || (extra.data && (extra.rows != n || extra.cols != x.cols)) ||
      after.cols != parameters_.state_width()) {
    fail("recurrent step: x [", x.rows, ", ", x.cols, "] and the state [", before.rows, ", ", before.cols,
         "] do not fit ", n, " rows after ", first, " of ", rows_, ", of width ", d_);
  }
  const std::size_t step = steps_.size();
  steps_.push_back({first, n});
  used_ += n;
  most_ = std::max(most_, n);
  enter(step, before, after);
  this->x = x;
  this->changes = observer.changes;
  extra_ = extra;
  observer_ = &observer;
  read_state();
  cell_.kernels<T>().forward(*this);
  name("hidden", after.columns(0, d_));
  return step;
}

template <class T>
void CellRun<T>::end_forward() {
  for (GateProduct& each : products_) each.product.end_forward();
}

template <class T>
void CellRun<T>::start_backward() {
  if (d_sums_.data) return;
  end_forward();
  d_sums_ = d_extra_ = spread(rows_, gates_.cols);
  if (cell_.scales_products) d_extra_ = spread(rows_, gates_.cols);
  d_products_ = norms_.empty() ? d_extra_ : spread(rows_, gates_.cols);
  masked_ = spread(most_, d_);
  scratch_ = spread(most_, d_);
}

template <class T>
void CellRun<T>::backward(std::size_t step, Matrix<const T> before, Matrix<const T> after,
                          Matrix<T> d_state) {
  start_backward();
  steps_[step].passed = true;
  enter(step, before, {const_cast<T*>(after.data), after.rows, after.cols, after.row_stride});  // only read
  this->d_state = d_state;
  this->d_sums = of_step(d_sums_, step);
  this->d_products = of_step(d_extra_, step);
  this->scratch = scratch_.row_range(0, d_state.rows);
  cell_.kernels<T>().backward(*this);
}

template <class T>
void CellRun<T>::finish() {
  for (GateProduct& each : products_) each.product.end_backward();
  if (d_sums_.data == nullptr) return;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].passed) continue;
    fill_rows<T>(0, of_step(d_extra_, i));
    fill_rows<T>(0, of_step(d_products_, i));
  }
  for (std::size_t i = 0; i < cell_.parameters.size(); ++i) {
    const std::int64_t gate = cell_.parameters[i].bias_of;
    const Matrix<T> d_bias = gate < 0 ? Matrix<T>() : gradient(i);
    if (d_bias.data) sum_rows<T>(d_extra_.row_range(0, used_).columns(gate * d_, d_), row_span(d_bias, 0));
  }
  const Var<T> u = parameters_.recurrent;
  if (!tape_->wants_gradient(u)) return;
  T beta;
  const Matrix<T> d_u = tape_->gradient(u, beta);
  auto add_product = [&](GateRange gates, Matrix<T> input) {
    const Matrix<const T> d_products = columns(d_products_, gates).row_range(0, used_);
    gemm<T>(tape_->precision(), input.row_range(0, used_).t(), d_products, beta, columns(d_u, gates));
  };
  add_product(early(), h_);
  if (cell_.reads_kept.count > 0) add_product(cell_.reads_kept, kept_);
}

template class CellRun<float>;
template class CellRun<double>;

}  // namespace heed
