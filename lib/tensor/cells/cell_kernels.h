// What the files of the cells share: loops over a step's vectors, compiled per target like simd.h, and how a
// file makes its kernels known. A file defines forward() and backward() over CellStep<T> in an unnamed
// namespace of HWY_NAMESPACE, then says HEED_CELL_TARGETS there and, once, HEED_CELL_KERNELS in heed.
#if defined(HEED_TENSOR_CELL_KERNELS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_CELL_KERNELS_H
#undef HEED_TENSOR_CELL_KERNELS_H
#else
#define HEED_TENSOR_CELL_KERNELS_H
#endif

#include "tensor/cells/cell_list.h"
#include "tensor/kernels.h"
#include "tensor/simd_activation.h"

#ifndef HEED_CELL_TARGETS
#define HEED_CELL_TARGETS     \
  HEED_TARGET_KERNEL(forward) \
  HEED_TARGET_KERNEL(backward)

#define HEED_CELL_KERNELS             \
  namespace {                         \
  HEED_EXPORT_KERNEL(forward)         \
  HEED_EXPORT_KERNEL(backward)        \
  template <class T>                  \
  CellKernels<T> kernels() {          \
    return {[](CellStep<T>& step) {   \
              HEED_DISPATCH(forward)  \
              (step);                 \
            },                        \
            [](CellStep<T>& step) {   \
              HEED_DISPATCH(backward) \
              (step);                 \
            }};                       \
  }                                   \
  }
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

/// Calls body(row, j, part) for every vector of a row of `width` columns, row by row.
template <class T, class Body>
HWY_INLINE void each_vector(Index rows, Index width, const Body& body) {
  for (Index row = 0; row < rows; ++row)
    for_vectors<T>(width, [&](Index j, auto part) HWY_ATTR { body(row, j, part); });
}

/// A GRU's new state, h' + z (g - h').
template <class T>
HWY_INLINE Vec<T> gru_mix(Vec<T> z, Vec<T> g, Vec<T> old) {
  return hn::MulAdd(z, g - old, old);
}

/// The same from gates that were changed.
template <class T>
void mix_changed(CellStep<T>& step) {
  const Matrix<const T> h_before = step.h_before(), z = step.gate(0), g = step.gate(2);
  for (Index i = 0; i < step.after.rows; ++i) {
    for (Index j = 0; j < step.d; ++j) step.after(i, j) = (1 - z(i, j)) * h_before(i, j) + z(i, j) * g(i, j);
  }
}

/// The gradients of a GRU's z, g and h' before their nonlinearities, from that of h.
template <class T>
struct GruSlopes {
  Vec<T> z, g, old;

  HWY_INLINE GruSlopes(Vec<T> d_h, Vec<T> gate_z, Vec<T> gate_g, Vec<T> h_prev)
      : z(d_h * (gate_g - h_prev) * Sigmoid<T>::slope(gate_z)),
        g(d_h * gate_z * Tanh<T>::slope(gate_g)),
        old(hn::NegMulAdd(d_h, gate_z, d_h)) {}
};

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
