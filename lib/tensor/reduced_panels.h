// Weights in fewer bits, laid out for the instructions that multiply and add two bfloat16 or four int8 at once. Only
// packed_weights.h, the door to products with them, and the tests include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/arena.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"
#include "tensor/precision.h"

namespace heed {

/// Panels of 32 columns, one after the other: for each group of rows, two of bfloat16 or four of int8, the 4 bytes of
/// column after column; rows and columns are filled up with zeros. int8: no number is
/// above 127 in magnitude and no sum of a pair, rows 2 i and 2 i + 1 of a column, above 128, so that two products with
/// unsigned bytes can be added in 16 bits: 255 * 128 fits. Columns that are not finite may break this; their scale is NaN.
/// A column that was int8 before keeps its integers if their pairs add up to 127 at most.
struct ReducedPanels {
  static constexpr std::int64_t kColumns = 32, kGroupBytes = 4 * kColumns;

  const std::byte* panels = nullptr;
  std::int64_t groups = 0;
  Precision precision = Precision::float32;
  // Of int8, for each column:
  const float* scales = nullptr;  ///< the weight is the int8 times this
  const std::int32_t* corrections =
      nullptr;  ///< -128 times the sum, as rows are taken as unsigned bytes, 128 larger

  /// Those from `first` on, a multiple of kColumns.
  ReducedPanels columns(std::int64_t first) const {
    ReducedPanels part = *this;
    if (panels) part.panels += first * 4 * groups;
    if (scales) part.scales += first, part.corrections += first;
    return part;
  }
};

/// `weight` [rows, cols], any strides, as bfloat16 or int8 in the arena's memory.
ReducedPanels reduce(Matrix<const float> weight, Precision precision, Arena& arena);

/// c = f(a b + bias) with the rows of a in the precision of b too; bias may be empty, a have any strides. The bits of a
/// row of c depend on that row of a alone. int8: sums are exact, and a row of a that is not finite gives NaN.
void multiply_reduced(Matrix<const float> a, const ReducedPanels& b, std::span<const float> bias,
                      Activation f, Matrix<float> c);
/// c += a b, likewise.
void multiply_reduced_add(Matrix<const float> a, const ReducedPanels& b, Matrix<float> c);

}  // namespace heed
