// z = s(W_z x + U_z h' + b_z),  r = s(W_r x + U_r h' + b_r)
// g = tanh(W x + U (r * h') + b),  h = (1 - z) * h' + z * g
// Cho et al. 2014, eq. 5-8, with z as in Bahdanau et al. 2015, appendix A.1.1. Keeps r * h'.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cells/gru.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/cells/cell_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

constexpr GateRange kUpdateAndReset{0, 2}, kCandidate{2, 1};

template <class T>
void forward(CellStep<T>& step) {
  const Index d = step.d;
  const Matrix<const T> x = step.x, h = step.h, h_before = step.h_before();
  const Matrix<T> gates = step.gates, reset = step.kept, h_now = step.after;
  step.multiply(kUpdateAndReset, h);
  each_vector<T>(h.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* in = x.row(row) + j;
    T* gate = gates.row(row) + j;
    part.store(Sigmoid<T>::value(part.load(in) + part.load(gate)), gate);
    const Vec<T> r = Sigmoid<T>::value(part.load(in + d) + part.load(gate + d));
    part.store(r, gate + d);
    part.store(r * part.load(h.row(row) + j), reset.row(row) + j);
  });
  step.name_gates(0, 2);
  if (step.changes) {
    fill_rows<T>(0, reset);
    multiply_add<T>(step.gate(1), h, reset);
  }
  step.multiply(kCandidate, reset);
  each_vector<T>(h.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    T* gate = gates.row(row) + j;
    const Vec<T> g = Tanh<T>::value(part.load(x.row(row) + 2 * d + j) + part.load(gate + 2 * d));
    part.store(g, gate + 2 * d);
    part.store(gru_mix<T>(part.load(gate), g, part.load(h_before.row(row) + j)), h_now.row(row) + j);
  });
  step.name_gates(2, 1);
  if (step.changes) mix_changed(step);
}

template <class T>
void backward(CellStep<T>& step) {
  const Index d = step.d;
  const Matrix<const T> gates = step.gates, h_before = step.h_before();
  const Matrix<T> d_h = step.d_state, d_sums = step.d_sums, d_reset = step.scratch;
  each_vector<T>(d_h.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const T* gate = gates.row(row) + j;
    T *d_sum = d_sums.row(row) + j, *d_state = d_h.row(row) + j;
    const GruSlopes<T> slopes(part.load(d_state), part.load(gate), part.load(gate + 2 * d),
                              part.load(h_before.row(row) + j));
    part.store(slopes.z, d_sum);
    part.store(slopes.g, d_sum + 2 * d);
    part.store(slopes.old, d_state);
  });
  // With dropout this is by r h', not by what U reads of it: the mask is in already.
  step.multiply_backward(kCandidate, 0, d_reset);
  each_vector<T>(d_h.rows, d, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> r = part.load(gates.row(row) + d + j), d_r = part.load(d_reset.row(row) + j);
    T* d_state = d_h.row(row) + j;
    part.store(d_r * part.load(h_before.row(row) + j) * Sigmoid<T>::slope(r), d_sums.row(row) + d + j);
    part.store(hn::MulAdd(d_r, r, part.load(d_state)), d_state);
  });
  step.multiply_backward(kUpdateAndReset, 1, d_h);
}

HEED_CELL_TARGETS

}  // namespace
}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_CELL_KERNELS

Cell gru_cell() {
  Cell cell{"gru", {"update", "reset", "candidate"}, {{0, 2}, {2, 1}}, kernels<float>(), kernels<double>()};
  cell.reads_kept = {2, 1};
  cell.keeps = true;
  return cell;
}

}  // namespace heed
#endif
