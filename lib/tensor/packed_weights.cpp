#include "tensor/packed_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/instantiate.h"

namespace heed {

namespace {

constexpr std::size_t kCacheLine = 64;

/// Columns of a transposed matrix that are packed before their memory goes back, or that are copied to be packed within
/// it.
template <class T>
inline constexpr std::int64_t kReleasedColumns = 64 * kPanelColumns<T>;

/// Gives the pages within back to the system. If it does not take them, nothing is lost.
void release_pages(void* begin, void* end) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page,
                       last = reinterpret_cast<std::uintptr_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

/// About the bytes that the packed forms of all parameters take.
std::size_t packed_bytes(std::size_t parameter_bytes, Precision precision) {
  const std::size_t part = precision == Precision::float32 ? 1 : precision == Precision::bfloat16 ? 2 : 4;
  return parameter_bytes / part + parameter_bytes / 64;  // columns are filled up, and may have scales
}

/// From its first element to its last.
template <class T>
std::span<const T> extent(Matrix<const T> m) {
  if (m.rows == 0 || m.cols == 0) return {m.data, 0};
  return {m.data, static_cast<std::size_t>((m.rows - 1) * m.row_stride + (m.cols - 1) * m.col_stride + 1)};
}

/// The matrix or its transpose, whichever has dense rows.
template <class T>
Matrix<const T> by_rows(Matrix<const T> m) {
  return m.col_stride == 1 ? m : m.t();
}

/// Whether no other values can lie between the rows.
template <class T>
bool has_whole_rows(Matrix<const T> rows) {
  return rows.row_stride == spread_stride(rows.cols);
}

/// A dense copy in `to`.
template <class T>
Matrix<const T> copied(Matrix<const T> m, T* to) {
  const Matrix<const T> from = by_rows(m);
  const Matrix<T> copy(to, from.rows, from.cols);
  copy_rows<T>(from, copy);
  const Matrix<const T> dense = copy;
  return m.col_stride == 1 ? dense : dense.t();
}

}  // namespace

template <class T>
PackedMatrix<T> lay_out(Matrix<const T> matrix, Precision precision, Arena& arena) {
  if constexpr (std::is_same_v<T, float>) {
    if (precision != Precision::float32)
      return {nullptr, matrix.rows, matrix.cols, reduce(matrix, precision, arena)};
  }
  return pack<T>(matrix, arena.allocate<T>(packed_size<T>(matrix.rows, matrix.cols)));
}
HEED_INSTANTIATE(lay_out)

template <class T>
const PackedMatrix<T>* PackedWeights<T>::find(Matrix<const T> weight) const {
  if (std::less<>()(weight.data, parameters_.data()) ||
      !std::less<>()(weight.data, parameters_.data() + parameters_.size()))
    return nullptr;
  const Key key = key_of(weight);
  const std::lock_guard guard(mutex_);
  const auto found = packed_.find(key);
  if (found != packed_.end()) return &found->second;
  // A step of a search reads all of them; in pages of 4 KiB those of a large model need more address translations than the
  // processor keeps (TLB).
  if (packed_.empty()) arena_.reserve(packed_bytes(parameters_.size_bytes(), precision_));
  return &packed_.emplace(key, packed(weight)).first->second;
}

template <class T>
const PackedMatrix<T>* PackedWeights<T>::in_place_of(Matrix<const T> weight) const {
  if (!released_) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto found = packed_.find(key_of(weight));
  if (found != packed_.end() && found->second.panels) return &found->second;
  expect_there(weight);
  return nullptr;
}

template <class T>
void PackedWeights<T>::expect_there(Matrix<const T> weight) const {
  const std::span<const T> wanted = extent(weight);
  for (const std::span<const T> gone : gone_)
    if (wanted.data() < gone.data() + gone.size() && gone.data() < wanted.data() + wanted.size())
      fail("weights are needed in two forms, but were to be held in one: a bug in heed");
}

template <class T>
PackedMatrix<T> PackedWeights<T>::packed(Matrix<const T> weight) const {
  expect_there(weight);
  if constexpr (std::is_same_v<T, float>) {
    if (precision_ != Precision::float32) {
      const PackedMatrix<T> reduced = lay_out<T>(weight, precision_, arena_);
      if (weight.col_stride == 1) release(weight);
      return reduced;
    }
  }
  // The columns of a transposed matrix lie one after the other, so that they need not all be there twice.
  const std::int64_t step = weight.col_stride == 1 ? weight.cols : std::min(kReleasedColumns<T>, weight.cols);
  T* const own = place_of(weight);
  T* const to = own ? own : arena_.allocate<T>(packed_size<T>(weight.rows, weight.cols));
  const auto copy =
      std::make_unique_for_overwrite<T[]>(own ? static_cast<std::size_t>(weight.rows * step) : 0);
  for (std::int64_t j = 0; j < weight.cols; j += step) {
    const Matrix<const T> part = weight.columns(j, std::min(step, weight.cols - j));
    pack(own ? copied(part, copy.get()) : part, to + j * weight.rows);
    if (!own) release(part);
  }
  if (own) gone_.push_back(extent(by_rows(weight)));
  return {to, weight.rows, weight.cols};
}

template <class T>
T* PackedWeights<T>::place_of(Matrix<const T> weight) const {
  const Matrix<const T> rows = by_rows(weight);
  if (!released_ || !has_whole_rows(rows)) return nullptr;
  const std::span<const T> all = extent(rows);
  void* place = released_ + (all.data() - parameters_.data());
  std::size_t room = all.size_bytes();
  const auto wanted = static_cast<std::size_t>(packed_size<T>(weight.rows, weight.cols)) * sizeof(T);
  return static_cast<T*>(std::align(kCacheLine, wanted, place, room));
}

template <class T>
void PackedWeights<T>::release(Matrix<const T> weight) const {
  const Matrix<const T> rows = by_rows(weight);
  if (!released_ || !has_whole_rows(rows)) return;
  const std::span<const T> all = extent(rows);
  T* const first = released_ + (all.data() - parameters_.data());
  release_pages(first, first + all.size());
  gone_.push_back(all);
}

template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace heed
