// The GRU of gru.cpp but g = tanh(W x + b + r * (U h' + b_u)), as in PyTorch. Keeps U h' + b_u.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cells/gru_reset_after.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/cells/cell_kernels.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

template <class T>
void forward(CellStep<T>& step) {
  const Index d = step.d;
  step.multiply({0, 3}, step.h);
  const Matrix<const T> x = step.x, bias = step.parameter(0), h_before = step.h_before();
  const Matrix<T> gates = step.gates, inner = step.kept, h_now = step.after;
  each_vector<T>(h_before.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    const Vec<T> z = Sigmoid<T>::value(part.load(in) + part.load(gate));
    const Vec<T> r = Sigmoid<T>::value(part.load(in + d) + part.load(gate + d));
    const Vec<T> u = part.load(gate + 2 * d) + part.load(bias.data + j);
    const Vec<T> g = Tanh<T>::value(hn::MulAdd(r, u, part.load(in + 2 * d)));
    part.store(z, gate);
    part.store(r, gate + d);
    part.store(g, gate + 2 * d);
    part.store(u, inner.row(row) + j);
    part.store(gru_mix<T>(z, g, part.load(h_before.row(row) + j)), h_now.row(row) + j);
  });
  step.name_gates(0, 2);
  for (Index i = 0; step.changes && i < gates.rows; ++i) {
    for (Index j = 0; j < d; ++j)
      gates(i, 2 * d + j) = std::tanh(x(i, 2 * d + j) + gates(i, d + j) * inner(i, j));
  }
  step.name_gates(2, 1);
  if (step.changes) mix_changed(step);
}

template <class T>
void backward(CellStep<T>& step) {
  const Index d = step.d;
  const Matrix<const T> gates = step.gates, inner = step.kept, h_before = step.h_before();
  const Matrix<T> d_h = step.d_state, d_sums = step.d_sums, d_products = step.d_products;
  each_vector<T>(d_h.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *d_product = d_products.row(row) + j, *d_state = d_h.row(row) + j;
    const Vec<T> r = part.load(gate + d);
    const GruSlopes<T> slopes(part.load(d_state), part.load(gate), part.load(gate + 2 * d),
                              part.load(h_before.row(row) + j));
    const Vec<T> d_r = slopes.g * part.load(inner.row(row) + j) * Sigmoid<T>::slope(r);
    part.store(slopes.z, d_sum);
    part.store(d_r, d_sum + d);
    part.store(slopes.g, d_sum + 2 * d);
    part.store(slopes.z, d_product);
    part.store(d_r, d_product + d);
    part.store(slopes.g * r, d_product + 2 * d);
    part.store(slopes.old, d_state);
  });
  step.multiply_backward({0, 3}, 1, d_h);
}

HEED_CELL_TARGETS

}  // namespace
}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_CELL_KERNELS

Cell gru_reset_after_cell() {
  Cell cell = gru_cell();
  cell.name = "gru-reset-after";
  cell.in_float = kernels<float>();
  cell.in_double = kernels<double>();
  cell.parameters = {{"recurrent/candidate/bias", CellParameter::When::always, 2}};
  cell.reads_kept = {};
  cell.scales_products = true;
  return cell;
}

}  // namespace heed
#endif
