// Weights laid out for products, once for all products with them. BLIS packs its operands again at every call,
// which takes longer than the product itself when there are few rows, as in a step of a search.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "tensor/arena.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"
#include "tensor/reduced_panels.h"

namespace heed {

/// Columns of a panel: two cache lines of each row.
template <class T>
inline constexpr std::int64_t kPanelColumns = 128 / sizeof(T);

/// A view of a matrix [rows, cols] as panels of kPanelColumns columns, one after the other: each a dense [rows,
/// kPanelColumns], the last filled up with zeros. Of less precision than T it has `reduced` panels instead.
template <class T>
struct PackedMatrix {
  const T* panels = nullptr;
  std::int64_t rows = 0, cols = 0;
  ReducedPanels reduced = {};

  /// An element, of panels that are not reduced.
  T operator()(std::int64_t row, std::int64_t col) const {
    return panels[(col / kPanelColumns<T> * rows + row) * kPanelColumns<T> + col % kPanelColumns<T>];
  }
  /// Some of its columns; `first` is a multiple of kPanelColumns.
  PackedMatrix columns(std::int64_t first, std::int64_t count) const {
    return {panels ? panels + first * rows : nullptr, rows, count, reduced.columns(first)};
  }
};

/// Elements of the panels.
template <class T>
std::int64_t packed_size(std::int64_t rows, std::int64_t cols) {
  return rows * ((cols + kPanelColumns<T> - 1) / kPanelColumns<T>)*kPanelColumns<T>;
}
/// `to` [packed_size]; any strides.
template <class T>
PackedMatrix<T> pack(Matrix<const T> matrix, T* to);
/// The same in the arena's memory and, for float, in this precision.
template <class T>
PackedMatrix<T> lay_out(Matrix<const T> matrix, Precision precision, Arena& arena);

/// What becomes of the values that have a packed form.
enum class Unpacked { kept, released };

/// Packed forms of the parameters in a flat buffer, each made when it is first asked for. The buffer must outlive this
/// and not change meanwhile. Any number of threads may ask. Only float has less precision than its own.
template <class T>
class PackedWeights {
 public:
  explicit PackedWeights(std::span<const T> parameters, Precision precision = Precision::float32)
      : parameters_(parameters), precision_(precision) {}
  /// Released: a matrix is packed within its own memory if that is large enough; otherwise, once it is packed, its memory
  /// goes back to the system in whole pages, which then read as zeros. A matrix with contiguous rows can then have only
  /// one packed form; asking for another of the same values throws Error. In lower precision, transposed matrices keep
  /// their values: they are embedding tables, whose rows are read exactly.
  PackedWeights(std::span<T> parameters, Precision precision, Unpacked unpacked)
      : parameters_(parameters),
        precision_(precision),
        released_(unpacked == Unpacked::released ? parameters.data() : nullptr) {}
  Precision precision() const { return precision_; }
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Null when the matrix is no part of the buffer.
  const PackedMatrix<T>* find(Matrix<const T> weight) const;
  /// The panels to read instead of the matrix, if it was packed and its values may have been released; else null.
  /// Throws Error if values of it were released for another matrix.
  const PackedMatrix<T>* in_place_of(Matrix<const T> weight) const;

 private:
  using Key = std::tuple<const T*, std::int64_t, std::int64_t, std::int64_t>;

  static Key key_of(Matrix<const T> weight) {
    return {weight.data, weight.rows, weight.cols, weight.row_stride};
  }
  PackedMatrix<T> packed(Matrix<const T> weight) const;
  /// Throws Error if any of it was released.
  void expect_there(Matrix<const T> weight) const;
  /// The matrix's own memory, from its first cache line on, if that is released, holds no other values, and has room for
  /// the panels; else null.
  T* place_of(Matrix<const T> weight) const;
  void release(Matrix<const T> weight) const;

  std::span<const T> parameters_;
  Precision precision_;
  T* released_ = nullptr;  ///< `parameters_`, unless they are kept
  mutable std::mutex mutex_;
  mutable Arena arena_;
  mutable std::map<Key, PackedMatrix<T>> packed_;
  mutable std::vector<std::span<const T>> gone_;  ///< values that are no longer there as they were
};

/// c = f(a b + bias); bias may be empty. a may have any strides. The bits of a row of c depend on that row of a alone,
/// and, unless b is reduced, are those of multiply_rows.
template <class T>
void multiply_packed(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Activation f,
                     Matrix<T> c);

/// c += a b, likewise.
template <class T>
void multiply_packed_add(Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c);

/// log_softmax_top_k of a b + bias, to the bit, of which only a block of columns exists at a time; bias may be empty.
template <class T>
void log_softmax_top_k(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, std::int64_t k,
                       Matrix<T> values, Matrix<std::int32_t> indices);

extern template class PackedWeights<float>;
extern template class PackedWeights<double>;

}  // namespace heed
