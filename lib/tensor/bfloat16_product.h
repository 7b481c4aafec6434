// Products of two matrices that both change from call to call, as training has them, in bfloat16. Only
// gemm.cpp, the door to products, and the tests include this; weights that stay as they are are laid out once
// (reduced_panels.h).
#pragma once

#include "tensor/matrix.h"

namespace heed {

/// c = start + a b, m, k, n > 0, with the elements of a [m, k] and b [k, n] rounded to the nearest bfloat16 (8 bits of
/// mantissa) and their products added up in float32. `start` [m, n] is none (no data: zeros), c itself, or other
/// rows, which may be one row m times over (row_stride 0). a and b may have any strides, c [m, n] must have rows
/// or columns of stride 1, and start as c has. The bits depend on the processor (it has AMX, or instructions for
/// pairs of bfloat16, or neither), not on threads.
void multiply_bfloat16(Matrix<const float> a, Matrix<const float> b, Matrix<const float> start,
                       Matrix<float> c);

}  // namespace heed
