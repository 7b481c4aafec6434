// h = tanh(W x + U h' + b)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cells/rnn.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/cells/cell_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

template <class T>
void forward(CellStep<T>& step) {
  step.multiply({0, 1}, step.h);
  const Matrix<const T> x = step.x, products = step.gates;
  const Matrix<T> h = step.after;
  each_vector<T>(h.rows, h.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> sum = part.load(x.row(row) + j) + part.load(products.row(row) + j);
    part.store(Tanh<T>::value(sum), h.row(row) + j);
  });
  step.name_gate(0, h);
}

template <class T>
void backward(CellStep<T>& step) {
  const Matrix<const T> h = step.after;
  const Matrix<T> d_h = step.d_state, d_sums = step.d_sums;
  each_vector<T>(h.rows, h.cols, [&](Index row, Index j, auto part) HWY_ATTR {
    const Vec<T> slope = Tanh<T>::slope(part.load(h.row(row) + j));
    part.store(part.load(d_h.row(row) + j) * slope, d_sums.row(row) + j);
  });
  step.multiply_backward({0, 1}, 0, d_h);
}

HEED_CELL_TARGETS

}  // namespace
}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_CELL_KERNELS

Cell rnn_cell() {
  return {"rnn", {"candidate"}, {{0, 1}}, kernels<float>(), kernels<double>()};
}

}  // namespace heed
#endif
