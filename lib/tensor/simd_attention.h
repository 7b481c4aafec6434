// What attention of whole sentences and of single queries share. Per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_ATTENTION_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_ATTENTION_H
#undef HEED_TENSOR_SIMD_ATTENTION_H
#else
#define HEED_TENSOR_SIMD_ATTENTION_H
#endif

#include <functional>
#include <span>
#include <vector>

#include "tensor/kernels.h"
#include "tensor/matrix.h"
#include "tensor/simd_softmax.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

/// Scratch memory of one call: arrays aligned to cache lines, in memory that the thread keeps.
template <class T>
class Scratch {
 public:
  explicit Scratch(Index elements) {
    const std::size_t lines = elements / kLine + 10;  // each matrix is rounded up to whole lines
    if (memory().size() < lines) memory().resize(lines);
  }
  /// [rows, cols], rows padded to whole vectors.
  Matrix<T> matrix(Index rows, Index cols) {
    const Index stride = padded(cols);
    return {array(rows * stride), rows, cols, stride};
  }
  /// The same for rows of which many are read side by side: spaced so that they do not compete for the same cache sets.
  Matrix<T> apart(Index rows, Index cols) {
    const Index stride = padded_apart(cols);
    return {array(rows * stride), rows, cols, stride};
  }
  T* array(Index elements) {
    T* const first = memory().data()->elements + used_;
    used_ += (elements + kLine - 1) / kLine * kLine;
    return first;
  }
  static Index padded_apart(Index cols) {
    constexpr Index same_lines = 1024 / sizeof(T);
    const Index stride = padded(cols);
    return stride % same_lines ? stride : stride + kLine;
  }
  static Index padded(Index cols) { return (cols + kLanes<T> - 1) / kLanes<T> * kLanes<T>; }

 private:
  static constexpr Index kLine = 64 / sizeof(T);
  struct alignas(64) Line {
    T elements[kLine];
  };
  static std::vector<Line>& memory() {
    static thread_local std::vector<Line> lines;
    return lines;
  }
  Index used_ = 0;
};

/// Sets the scores from `visible` on to -infinity, up to `width`, a whole number of vectors. It stores whole vectors:
/// softmax loads them next, and a load that spans several narrower stores would stall.
template <class T>
HWY_INLINE void hide_after(Index visible, T* scores, Index width) {
  for (Index j = visible / kLanes<T> * kLanes<T>; j < width; j += kLanes<T>) {
    const auto seen = hn::FirstN(Tag<T>(), static_cast<std::size_t>(std::max<Index>(visible - j, 0)));
    hn::StoreU(hn::IfThenElse(seen, hn::LoadU(Tag<T>(), scores + j), set(kMinusInfinity<T>)), Tag<T>(),
               scores + j);
  }
}

/// Sets the first scores to -infinity, in whole vectors as hide_after() does.
template <class T>
HWY_INLINE void hide_first(Index hidden, T* scores) {
  for (Index j = 0; j < hidden; j += kLanes<T>) {
    const auto unseen = hn::FirstN(Tag<T>(), static_cast<std::size_t>(hidden - j));
    hn::StoreU(hn::IfThenElse(unseen, set(kMinusInfinity<T>), hn::LoadU(Tag<T>(), scores + j)), Tag<T>(),
               scores + j);
  }
}

/// y += x.
template <class T>
HWY_INLINE void add_row(const T* x, Index n, T* y) {
  for_vectors<T>(
      n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(y + j) + part.load(x + j), y + j); });
}

template <class T>
HWY_INLINE void copy_row(const T* from, Index n, T* to) {
  for_vectors<T>(n, [&](Index j, auto part) HWY_ATTR { part.store(part.load(from + j), to + j); });
}

template <class T>
using EditOf = std::function<void(std::int64_t, std::span<T>)> RowEdit<T>::*;

template <class T>
HWY_INLINE void edit_row(const RowEdit<T>* edit, EditOf<T> what, Index query, T* row, Index n) {
  if (edit && edit->*what) (edit->*what)(query, {row, static_cast<std::size_t>(n)});
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
