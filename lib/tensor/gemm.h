// Matrix products over BLIS. gemm.cpp is the only file that includes blis.h.
#pragma once

#include <span>

#include "tensor/matrix.h"
#include "tensor/precision.h"

namespace heed {

/// c = alpha a b + beta c on the calling thread; any strides; beta = 0 overwrites (c may hold NaN). a [m, k],
/// b [k, n], c [m, n]; throws Error naming the shapes when they do not fit. T is float or double. The BLIS
/// kernels are chosen by shape and processor from a table of measurements, never by the data, so equal calls
/// on one machine give bitwise equal results.
template <class T>
void gemm(std::type_identity_t<T> alpha, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::type_identity_t<T> beta, Matrix<T> c);

/// Products of fewer rows, columns or summands gain nothing from bfloat16.
inline constexpr std::int64_t kFewestForBfloat16 = 16;

/// c = a b + beta c in this precision, float32 or bfloat16; beta is 0 or 1. bfloat16: both factors are rounded to
/// it, sums are float32; products of fewer than kFewestForBfloat16 rows, columns or summands stay float32. double
/// knows no other precision.
template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::type_identity_t<T> beta, Matrix<T> c);

/// c = a b in this precision, plus `row` [n] in every row of c, unless it is empty. The rows of c have stride 1.
template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::span<const std::type_identity_t<T>> row, Matrix<T> c);

}  // namespace heed
