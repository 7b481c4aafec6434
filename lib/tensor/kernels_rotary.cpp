// Rotary positions: J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu: RoFormer, 2021.
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_rotary.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Calls body(row, first column, cosines, sines) for every run of d columns of every row.
template <class T, class Body>
HWY_INLINE void each_run(Matrix<const T> x, Matrix<const T> turns, std::span<const std::int32_t> position,
                         Index d, const Body& body) {
  const Index half = turns.cols / 2;
  for (Index i = 0; i < x.rows; ++i) {
    const T* cosines = turns.row(position[i]);
    for (Index first = 0; first < x.cols; first += d) body(i, first, cosines, cosines + half);
  }
}

}  // namespace

template <class T>
void rotate_rows(Matrix<const T> x, Matrix<const T> turns, std::span<const std::int32_t> position, Index d,
                 Matrix<T> y) {
  const Index half = turns.cols / 2;
  each_run(x, turns, position, d, [&](Index i, Index first, const T* cosines, const T* sines) HWY_ATTR {
    const T *a = x.row(i) + first, *b = a + half;
    T *to_a = y.row(i) + first, *to_b = to_a + half;
    for_vectors<T>(half, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> c = part.load(cosines + j), s = part.load(sines + j);
      const Vec<T> u = part.load(a + j), v = part.load(b + j);
      part.store(hn::NegMulAdd(v, s, u * c), to_a + j);
      part.store(hn::MulAdd(u, s, v * c), to_b + j);
    });
    std::copy(a + turns.cols, a + d, to_a + turns.cols);
  });
}

template <class T>
void rotate_rows_backward(Matrix<const T> d_y, Matrix<const T> turns, std::span<const std::int32_t> position,
                          Index d, Matrix<T> d_x) {
  const Index half = turns.cols / 2;
  each_run(d_y, turns, position, d, [&](Index i, Index first, const T* cosines, const T* sines) HWY_ATTR {
    const T *a = d_y.row(i) + first, *b = a + half;
    T *to_a = d_x.row(i) + first, *to_b = to_a + half;
    for_vectors<T>(half, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> c = part.load(cosines + j), s = part.load(sines + j);
      const Vec<T> u = part.load(a + j), v = part.load(b + j);
      part.store(part.load(to_a + j) + hn::MulAdd(v, s, u * c), to_a + j);
      part.store(part.load(to_b + j) + hn::NegMulAdd(u, s, v * c), to_b + j);
    });
    for (Index j = turns.cols; j < d; ++j) to_a[j] += a[j];
  });
}

HEED_TARGET_KERNEL(rotate_rows)
HEED_TARGET_KERNEL(rotate_rows_backward)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, rotate_rows,
            (Matrix<const T> x, Matrix<const T> turns, std::span<const std::int32_t> position, std::int64_t d,
             Matrix<T> y),
            (x, turns, position, d, y))
HEED_KERNEL(void, rotate_rows_backward,
            (Matrix<const T> d_y, Matrix<const T> turns, std::span<const std::int32_t> position,
             std::int64_t d, Matrix<T> d_x),
            (d_y, turns, position, d, d_x))

}  // namespace heed
#endif
