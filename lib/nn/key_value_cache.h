// The keys and values that a self-attention computed of the tokens read so far. Hypotheses that share a past
// share its rows: each has a list of its own rows, so that re-ordering a beam copies indices, never keys.
#pragma once

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
  /// Appends rows: keys and values [n, d] each.
  void append(Matrix<const T> keys, Matrix<const T> values) {
    width_ = keys.cols;
    for (std::int64_t i = 0; i < keys.rows; ++i) {
      rows_.insert(rows_.end(), keys.row(i), keys.row(i) + width_);
      rows_.insert(rows_.end(), values.row(i), values.row(i) + width_);
    }
  }
  const T* key(std::int32_t row) const { return rows_.data() + row * 2 * width_; }
  const T* value(std::int32_t row) const { return key(row) + width_; }

 private:
  std::vector<T> rows_;  ///< a key and its value side by side
  std::int64_t width_ = 0;
};

/// What a causal self-attention over a past works on.
template <class T>
struct Past {
  KeyValueCache<T>* cache = nullptr;
  const PastRows* rows = nullptr;  ///< of each sequence of the pass: with those that this pass appends
};

}  // namespace heed
