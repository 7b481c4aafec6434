// Kernels over the rows of a matrix: biases, their gradients, and the rows of embedding tables.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_rows.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_activation.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

template <class T>
void sum_rows(Matrix<const T> x, std::span<T> accumulated) {
  // Panels of four vectors stay in registers during the loop over rows.
  constexpr Index panel = 4 * kLanes<T>;
  const Whole<T> all;
  Index j = 0;
  for (; j + panel <= x.cols; j += panel) {
    Vec<T> sum[4];
    for (Index v = 0; v < 4; ++v) sum[v] = all.load(&accumulated[j + v * kLanes<T>]);
    for (Index i = 0; i < x.rows; ++i)
      for (Index v = 0; v < 4; ++v) sum[v] = sum[v] + all.load(x.row(i) + j + v * kLanes<T>);
    for (Index v = 0; v < 4; ++v) all.store(sum[v], &accumulated[j + v * kLanes<T>]);
  }
  for_vectors<T>(x.cols - j, [&](Index rest, auto part) HWY_ATTR {
    T* to = &accumulated[j + rest];
    Vec<T> sum = part.load(to);
    for (Index i = 0; i < x.rows; ++i) sum = sum + part.load(x.row(i) + j + rest);
    part.store(sum, to);
  });
}

template <class T>
void bias_activation_dropout(std::span<const T> bias, Activation f, const Dropout& drop, Matrix<T> y) {
  KeepFactors<T> keep(drop);
  with_activation<T>(f, [&](auto function) HWY_ATTR {
    for (Index i = 0; i < y.rows; ++i) {
      T* row = y.row(i);
      for_vectors<T>(y.cols, [&](Index j, auto part) HWY_ATTR {
        const Vec<T> z = bias.empty() ? part.load(row + j) : part.load(row + j) + part.load(&bias[j]);
        part.store(function.value(z), row + j);
      });
      if (!drop.active()) continue;
      keep.for_runs(i * y.cols, y.cols, [&](Index first, Index count, const T* factors) HWY_ATTR {
        for_vectors<T>(count, [&](Index j, auto part) HWY_ATTR {
          part.store(part.load(row + first + j) * part.load(factors + j), row + first + j);
        });
      });
    }
  });
}

template <class T>
void bias_activation_dropout_backward(Activation f, const Dropout& drop, Matrix<const T> y,
                                      Matrix<const T> d_y, Matrix<T> d_z) {
  KeepFactors<T> keep(drop);
  const Vec<T> unscale = set(static_cast<T>(1 / drop.scale()));  // f(z) = y / scale where kept
  with_activation<T>(f, [&](auto function) HWY_ATTR {
    if (!drop.active()) {
      for_vectors<T>(y.size(), [&](Index i, auto part) HWY_ATTR {
        part.store(part.load(d_y.data + i) * function.slope(part.load(y.data + i)), d_z.data + i);
      });
      return;
    }
    keep.for_runs(0, y.size(), [&](Index first, Index count, const T* factors) HWY_ATTR {
      for_vectors<T>(count, [&](Index j, auto part) HWY_ATTR {
        const Vec<T> slope = function.slope(part.load(y.data + first + j) * unscale);
        part.store(part.load(d_y.data + first + j) * part.load(factors + j) * slope, d_z.data + first + j);
      });
    });
  });
}

template <class T>
void gather_rows(Matrix<const T> table, std::span<const std::int32_t> ids, T scale, Matrix<const T> positions,
                 std::span<const std::int32_t> position, Matrix<T> y) {
  for (Index i = 0; i < y.rows; ++i) {
    const T* entry = ids[i] == kNoRow ? nullptr : table.row(ids[i]);
    const T* place = positions.data ? positions.row(position[i]) : nullptr;
    for_vectors<T>(y.cols, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> scaled = entry ? part.load(entry + j) * set(scale) : set(T{0});
      part.store(place ? scaled + part.load(place + j) : scaled, y.row(i) + j);
    });
  }
}

template <class T>
void scatter_add_rows(std::span<const std::int32_t> ids, T scale, Matrix<const T> d_y, Matrix<T> d_table) {
  for (Index i = 0; i < d_y.rows; ++i) {
    if (ids[i] == kNoRow) continue;
    T* to = d_table.row(ids[i]);
    for_vectors<T>(d_y.cols, [&](Index j, auto part) HWY_ATTR {
      part.store(hn::MulAdd(part.load(d_y.row(i) + j), set(scale), part.load(to + j)), to + j);
    });
  }
}

HEED_TARGET_KERNEL(sum_rows)
HEED_TARGET_KERNEL(bias_activation_dropout)
HEED_TARGET_KERNEL(bias_activation_dropout_backward)
HEED_TARGET_KERNEL(gather_rows)
HEED_TARGET_KERNEL(scatter_add_rows)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

template <class T>
void broadcast_row(std::span<const T> row, Matrix<T> y) {
  for (std::int64_t i = 0; i < y.rows; ++i) std::copy(row.begin(), row.end(), y.row(i));
}
HEED_KERNEL(void, sum_rows, (Matrix<const T> x, std::span<T> accumulated), (x, accumulated))
HEED_KERNEL(void, bias_activation_dropout,
            (std::span<const T> bias, Activation f, const Dropout& drop, Matrix<T> y), (bias, f, drop, y))
HEED_KERNEL(void, bias_activation_dropout_backward,
            (Activation f, const Dropout& drop, Matrix<const T> y, Matrix<const T> d_y, Matrix<T> d_z),
            (f, drop, y, d_y, d_z))
HEED_KERNEL(void, gather_rows,
            (Matrix<const T> table, std::span<const std::int32_t> ids, T scale, Matrix<const T> positions,
             std::span<const std::int32_t> position, Matrix<T> y),
            (table, ids, scale, positions, position, y))
HEED_KERNEL(void, scatter_add_rows,
            (std::span<const std::int32_t> ids, T scale, Matrix<const T> d_y, Matrix<T> d_table),
            (ids, scale, d_y, d_table))

HEED_INSTANTIATE(broadcast_row)

}  // namespace heed
#endif
