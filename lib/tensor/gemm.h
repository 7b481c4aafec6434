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

/// c = a b + beta c in this precision, float32 or bfloat16; beta is 0 or 1. bfloat16: both factors are
/// rounded to it, sums are float32; products of few rows, columns or summands, which gain nothing, stay
/// float32. double knows no other precision.
template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::type_identity_t<T> beta, Matrix<T> c);

/// Likewise c = a b plus `row` [n] in every row; an empty row is none. c has rows of stride 1.
template <class T>
void gemm(Precision precision, Matrix<const std::type_identity_t<T>> a,
          Matrix<const std::type_identity_t<T>> b, std::span<const std::type_identity_t<T>> row, Matrix<T> c);

}  // namespace heed
