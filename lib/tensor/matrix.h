// Matrix: a non-owning view of a two-dimensional array with row and column strides (so transposing swaps two
// numbers). Models compute on matrices of packed rows: the tokens of all sentences of a batch, one after the
// other, without padding. Arena, ParameterSet and std::vector own the memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

namespace heed {

/// The row stride to allocate for a matrix of this width: the width, or a little more when the rows would map
/// to so few cache sets that they evict one another. Measured on AMD Zen 4 with 16 rows times [512, 2048]:
/// 45 GFLOP/s without padding, 86 with 16 elements, 91 with 144; times its transpose 50, 61, 91.
inline std::int64_t spread_stride(std::int64_t width) {
  if (width % 256 != 0) return width;
  return width + (width < 1024 ? 16 : 144);
}

template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;

  Matrix() = default;
  /// Dense, row-major.
  Matrix(T* data, std::int64_t rows, std::int64_t cols) : Matrix(data, rows, cols, cols, 1) {}
  Matrix(T* data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride = 1)
      : data(data), rows(rows), cols(cols), row_stride(row_stride), col_stride(col_stride) {}
  /// Matrix<T> may be used where Matrix<const T> is wanted.
  template <class U>
  requires(std::is_same_v<const U, T>) Matrix(const Matrix<U>& m)
      : Matrix(m.data, m.rows, m.cols, m.row_stride, m.col_stride) {}

  T& operator()(std::int64_t row, std::int64_t col) const {
    return data[row * row_stride + col * col_stride];
  }
  T* row(std::int64_t i) const { return data + i * row_stride; }
  Matrix t() const { return {data, cols, rows, col_stride, row_stride}; }
  Matrix columns(std::int64_t first, std::int64_t count) const {
    return {data + first * col_stride, rows, count, row_stride, col_stride};
  }
  Matrix row_range(std::int64_t first, std::int64_t count) const {
    return {data + first * row_stride, count, cols, row_stride, col_stride};
  }
  std::int64_t size() const { return rows * cols; }
  bool dense() const { return col_stride == 1 && (row_stride == cols || rows <= 1); }
};

// Row by row: the matrices may be slices.
template <class T>
std::span<T> row_span(Matrix<T> m, std::int64_t row) {
  return {m.row(row), static_cast<std::size_t>(m.cols)};
}
/// Copies `from` into the first rows and columns of `to`.
template <class T>
void copy_rows(std::type_identity_t<Matrix<const T>> from, Matrix<T> to) {
  for (std::int64_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
}
template <class T>
void fill_rows(T value, Matrix<T> m) {
  for (std::int64_t i = 0; i < m.rows; ++i) std::fill_n(m.row(i), m.cols, value);
}

}  // namespace heed
