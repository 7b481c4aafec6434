// What modifies the scores: --bias, and the keys that a query may attend to (--mask).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attend/config.h"
#include "attend/operands.h"
#include "tensor/matrix.h"

namespace heed {

/// Sizes of all scores: [batch, heads, n, m].
struct ScoreShape {
  std::int64_t batch = 1, heads = 1, queries = 0, keys = 0;
};

/// A tensor over the scores whose missing dimensions and sizes of 1 are repeated.
class Overlay {
 public:
  /// `third`: what the first of three dimensions without names is, "batch" or "heads". Throws Error, naming
  /// the operand, when the shape does not fit.
  Overlay(const Operand& operand, const ScoreShape& scores, const std::string& third);

  /// The offset of element (s, h, i, j) is row(s, h, i) + j * key_stride().
  std::int64_t row(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return s * strides_[0] + h * strides_[1] + i * strides_[2];
  }
  std::int64_t key_stride() const { return strides_[3]; }

 private:
  std::int64_t strides_[4] = {0, 0, 0, 0};
};

/// Where a row of scores belongs.
struct ScoreRow {
  std::int64_t sentence = 0, head = 0, query = 0;
  std::int64_t first_key = 0;
  std::int64_t n = 0, m = 0;  ///< real queries and keys of the sentence
};

/// The mask: u8, i32 or i64 of 0 and 1 (1 = attend): [m], [n, m], (sentence, key), [batch, n, m] or [batch,
/// heads, n, m].
class Visibility {
 public:
  Visibility(const MaskWords& words, const std::optional<Operand>& mask, const ScoreShape& scores);

  /// Sets hidden scores of a row to -infinity.
  template <class T>
  void hide(const ScoreRow& row, std::int64_t count, T* scores) const;

 private:
  MaskWords words_;
  std::optional<Overlay> overlay_;
  std::vector<std::uint8_t> mask_;
};

/// The bias: f32 or f64, [n, m], [heads, n, m] or [batch, heads, n, m]. -infinity hides a key; NaN and
/// +infinity are refused.
template <class T>
class Bias {
 public:
  Bias(const Operand& operand, const ScoreShape& scores);
  void add(const ScoreRow& row, std::int64_t count, T* scores) const;

 private:
  Overlay overlay_;
  std::vector<T> values_;
};

extern template class Bias<float>;
extern template class Bias<double>;

}  // namespace heed
