// i, f, o = s(W x + U h' + b) each with its own W, U, b;  g = tanh(W x + U h' + b)
// c = f * c' + i * g,  h = o * tanh(c)            Hochreiter, Schmidhuber 1997
// With peepholes i = s(... + p_i * c'), f = s(... + p_f * c'), o = s(... + p_o * c): Gers, Schraudolph,
// Schmidhuber 2002. With layer normalisation h = o * tanh(LN(c)).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cells/lstm.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/cells/cell_kernels.h"

#include <string>
#include <vector>

#include "base/error.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Peephole weights [d], all or none.
template <class T>
struct Peepholes {
  const T *input, *forget, *output;

  explicit Peepholes(const CellStep<T>& step)
      : input(step.parameter(0).data), forget(step.parameter(1).data), output(step.parameter(2).data) {}
};

/// i, f, o and g from their sums; c = f c' + i g.
template <class T>
void memory(const CellStep<T>& step) {
  const Index d = step.d;
  const Matrix<const T> x = step.x, c_before = step.before.columns(d, d);
  const Matrix<T> gates = step.gates, c_now = step.after.columns(d, d);
  const Peepholes<T> peepholes(step);
  each_vector<T>(c_before.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    const Vec<T> old = part.load(c_before.row(row) + j);
    // The sum of a gate, with what its peephole sees.
    auto sum = [&](Index k, const T* peephole, Vec<T> seen) HWY_ATTR {
      const Vec<T> total = part.load(in + k * d) + part.load(gate + k * d);
      return peephole ? hn::MulAdd(part.load(peephole + j), seen, total) : total;
    };
    const Vec<T> i = Sigmoid<T>::value(sum(0, peepholes.input, old)),
                 f = Sigmoid<T>::value(sum(1, peepholes.forget, old)),
                 g = Tanh<T>::value(sum(3, nullptr, old)), c = hn::MulAdd(f, old, i * g);
    part.store(i, gate);
    part.store(f, gate + d);
    part.store(Sigmoid<T>::value(sum(2, peepholes.output, c)), gate + 2 * d);
    part.store(g, gate + 3 * d);
    part.store(c, c_now.row(row) + j);
  });
}

/// h = o tanh(c), c as it is or normalised.
template <class T>
void output(Matrix<const T> gates, Matrix<const T> c, Matrix<T> h) {
  each_vector<T>(c.rows, c.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> o = part.load(gates.row(row) + 2 * c.cols + j);
    part.store(o * Tanh<T>::value(part.load(c.row(row) + j)), h.row(row) + j);
  });
}

template <class T>
void forward(CellStep<T>& step) {
  const Index d = step.d;
  step.multiply({0, 4}, step.h);
  const Matrix<const T> c_before = step.before.columns(d, d), p_o = step.parameter(2);
  const Matrix<T> c = step.after.columns(d, d), o = step.gate(2);
  // The peephole of o reads c: when c may be changed, o is computed again, from this sum.
  std::vector<T> sums;
  if (step.changes && p_o.data) {
    for (Index i = 0; i < o.rows; ++i)
      for (Index j = 0; j < d; ++j) sums.push_back(o(i, j) + step.x(i, 2 * d + j));
  }
  memory(step);
  step.name_gates(0, 2), step.name_gates(3, 1);
  if (step.changes) {
    fill_rows<T>(0, c);
    multiply_add<T>(step.gate(0), step.gate(3), c);
    multiply_add<T>(step.gate(1), c_before, c);
  }
  step.name("cell", c);
  if (!sums.empty()) {
    const Matrix<T> o_sum(sums.data(), o.rows, d);
    for (Index i = 0; i < o.rows; ++i) multiply_add<T>(p_o, c.row_range(i, 1), o_sum.row_range(i, 1));
    bias_activation_dropout<T>({}, Activation::sigmoid, Dropout{}, o_sum);
    copy_rows<T>(o_sum, o);
  }
  step.name_gates(2, 1);
  if (step.normed.data) step.normalize(c);
  output<T>(step.gates, step.normed.data ? step.normed : c, step.after.columns(0, d));
}

/// The gradient of o's sum, and that of c or LN(c), which is added to d_c.
template <class T>
void output_backward(const CellStep<T>& step, Matrix<const T> c, Matrix<T> d_c) {
  const Index d = step.d;
  const Matrix<const T> gates = step.gates, d_h = step.d_state;
  const Matrix<T> d_sums = step.d_sums;
  each_vector<T>(c.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> o = part.load(gates.row(row) + 2 * d + j), t = Tanh<T>::value(part.load(c.row(row) + j)),
                 d_now = part.load(d_h.row(row) + j);
    T* to = d_c.row(row) + j;
    part.store(d_now * t * Sigmoid<T>::slope(o), d_sums.row(row) + 2 * d + j);
    part.store(hn::MulAdd(d_now * o, Tanh<T>::slope(t), part.load(to)), to);
  });
}

/// Of i, f and g, given that of o; d_c becomes that of c'.
template <class T>
void memory_backward(const CellStep<T>& step, Matrix<T> d_c) {
  const Index d = step.d;
  const Matrix<const T> gates = step.gates, c_before = step.before.columns(d, d);
  const Matrix<T> d_sums = step.d_sums;
  const Peepholes<T> peepholes(step);
  each_vector<T>(c_before.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *to = d_c.row(row) + j;
    const Vec<T> i = part.load(gate), f = part.load(gate + d), g = part.load(gate + 3 * d);
    auto through = [&](const T* peephole, Vec<T> d_gate, Vec<T> other) HWY_ATTR {
      return peephole ? hn::MulAdd(part.load(peephole + j), d_gate, other) : other;
    };
    const Vec<T> d_now = through(peepholes.output, part.load(d_sum + 2 * d), part.load(to));
    const Vec<T> d_i = d_now * g * Sigmoid<T>::slope(i);
    const Vec<T> d_f = d_now * part.load(c_before.row(row) + j) * Sigmoid<T>::slope(f);
    part.store(d_i, d_sum);
    part.store(d_f, d_sum + d);
    part.store(d_now * i * Tanh<T>::slope(g), d_sum + 3 * d);
    part.store(through(peepholes.input, d_i, through(peepholes.forget, d_f, d_now * f)), to);
  });
}

template <class T>
void backward(CellStep<T>& step) {
  const Index d = step.d;
  const Matrix<const T> c_before = step.before.columns(d, d), c = step.after.columns(d, d);
  const Matrix<T> d_c = step.d_state.columns(d, d);
  if (step.normed.data) {
    const Matrix<T> d_normed = step.scratch;
    fill_rows<T>(0, d_normed);
    output_backward<T>(step, step.normed, d_normed);
    step.normalize_backward(c, d_normed);
    add_rows<T>(d_normed, d_c);
  } else {
    output_backward<T>(step, c, d_c);
  }
  memory_backward(step, d_c);
  for (std::size_t gate = 0; gate < 3; ++gate) {
    const Matrix<T> d_peephole = step.gradient(gate);
    const Matrix<const T> seen = gate == 2 ? c : c_before,
                          d_sum = step.d_sums.columns(static_cast<Index>(gate) * d, d);
    for (Index i = 0; d_peephole.data && i < seen.rows; ++i)
      multiply_add<T>(d_sum.row_range(i, 1), seen.row_range(i, 1), d_peephole);
  }
  step.multiply_backward({0, 4}, 0, step.d_state.columns(0, d));
}

HEED_CELL_TARGETS

}  // namespace
}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_CELL_KERNELS

Cell lstm_cell() {
  Cell cell{
      "lstm", {"input", "forget", "output", "candidate"}, {{0, 4}}, kernels<float>(), kernels<double>()};
  for (const char* gate : {"input", "forget", "output"})
    cell.parameters.push_back({concat("peephole/", gate, "/weight"), CellParameter::When::peepholes});
  cell.states = {"hidden", "cell"};
  cell.norm = "cell_norm";
  return cell;
}

}  // namespace heed
#endif
