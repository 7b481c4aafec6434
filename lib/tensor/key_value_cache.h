// The keys and values that a self-attention computed of the tokens read so far. Hypotheses that share a past
// share its rows: each has a list of its own rows, so that re-ordering a beam copies indices, never keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/matrix.h"

namespace heed {

/// Which rows of the caches are a hypothesis's past, oldest first; the same in all layers.
using PastRows = std::vector<std::vector<std::int32_t>>;

template <class T>
class KeyValueCache {
 public:
  /// Row i of keys and values [n, d] each becomes row to[i] of the cache.
  void write(Matrix<const T> keys, Matrix<const T> values, std::span<const std::int32_t> to) {
    width_ = keys.cols;
    if (to.empty()) return;
    const auto needed = static_cast<std::size_t>((std::ranges::max(to) + std::int64_t{1}) * 2 * width_);
    if (rows_.size() < needed) rows_.resize(needed);
    for (std::int64_t i = 0; i < keys.rows; ++i) {
      T* row = rows_.data() + to[static_cast<std::size_t>(i)] * 2 * width_;
      std::copy_n(values.row(i), width_, std::copy_n(keys.row(i), width_, row));
    }
  }
  Matrix<const T> keys() const { return all().columns(0, width_); }
  Matrix<const T> values() const { return all().columns(width_, width_); }

 private:
  Matrix<const T> all() const {
    const std::int64_t cols = 2 * width_;
    return {rows_.data(), cols == 0 ? 0 : static_cast<std::int64_t>(rows_.size()) / cols, cols};
  }

  std::vector<T> rows_;  ///< a key and its value side by side
  std::int64_t width_ = 0;
};

/// What a causal self-attention over a past works on.
template <class T>
struct Past {
  KeyValueCache<T>* cache = nullptr;
  const PastRows* rows = nullptr;  ///< of each sequence of the pass: with those that this pass appends
  std::span<const std::int32_t> appended;  ///< those: where each row of the pass goes

  /// The past of a row of sequence s, itself included, if `later` rows of the sequence follow it in this pass.
  std::span<const std::int32_t> seen_by(std::int64_t s, std::int64_t later) const {
    const std::vector<std::int32_t>& all = (*rows)[static_cast<std::size_t>(s)];
    return std::span(all).first(all.size() - static_cast<std::size_t>(later));
  }
};

}  // namespace heed
