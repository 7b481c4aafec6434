// Modifiers of the scores: --bias, and the keys that a query may attend to (--mask).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attend/config.h"
#include "attend/operands.h"
#include "tensor/causal_mask.h"

namespace heed {

/// Sizes of all scores: [batch, heads, n, m].
struct ScoreShape {
  std::int64_t batch = 1, heads = 1, queries = 0, keys = 0;
};

/// Identifies a row of scores.
struct ScoreRow {
  std::int64_t sentence = 0, head = 0, query = 0;
  std::int64_t first_key = 0;
  std::int64_t n = 0, m = 0;  ///< real queries and keys of the sentence
};

/// A tensor over the scores as V, with missing dimensions and sizes of 1 broadcast.
template <class V>
class Overlay {
 public:
  /// `third`: the meaning of the first of three unnamed dimensions, "batch" or "heads". Throws Error, naming
  /// the operand, if the shape does not fit.
  Overlay(const Operand& operand, const ScoreShape& scores, const std::string& third) {
    const Tensor& tensor = *operand.tensor;
    const Shape shape = without_layer(tensor);
    const std::size_t rank = shape.size();
    if (rank < 1 || rank > 4)
      fail(describe(operand), ", wanted [n, m], [", third, ", n, m] or [batch, heads, n, m]");
    const std::string first = tensor.dims().empty() ? "" : tensor.dims()[0];
    // The dimensions of (batch, heads, n, m) that the tensor has.
    std::vector<std::size_t> axes;
    if (rank == 2 && first == "sentence") {
      axes = {0, 3};
    } else if (rank == 3) {
      const bool by_sentence = first == "sentence" || (first != "head" && third == "batch");
      axes = {by_sentence ? 0u : 1u, 2, 3};
    } else {
      for (std::size_t axis = 4 - rank; axis < 4; ++axis) axes.push_back(axis);
    }
    const std::int64_t sizes[] = {scores.batch, scores.heads, scores.queries, scores.keys};
    Shape wanted;
    for (const std::size_t axis : axes) wanted.push_back(sizes[axis]);
    std::int64_t stride = 1;
    for (std::size_t d = rank; d-- > 0;) {
      if (shape[d] != wanted[d] && shape[d] != 1) expect_shape(operand.name, shape, wanted);
      strides_[axes[d]] = shape[d] == 1 ? 0 : stride;
      stride *= shape[d];
    }
  }

  std::vector<V> values;

  /// Calls use(value, score) for each of the `count` scores of a row.
  template <class T, class Use>
  void for_row(const ScoreRow& row, std::int64_t count, T* scores, const Use& use) const {
    const V* from = values.data() + row.sentence * strides_[0] + row.head * strides_[1] +
                    row.query * strides_[2] + row.first_key * strides_[3];
    for (std::int64_t j = 0; j < count; ++j) use(from[j * strides_[3]], scores[j]);
  }

 private:
  std::int64_t strides_[4] = {0, 0, 0, 0};
};

/// The masks: tensors of 0 and 1 (1 = attend): [m], [n, m], (sentence, key), [batch, n, m] or [batch, heads,
/// n, m].
class Visibility {
 public:
  Visibility(const MaskWords& words, const std::vector<Operand>& masks, const ScoreShape& scores)
      : words_(words) {
    for (const Operand& mask : masks) {
      Overlay<std::uint8_t>& given = given_.emplace_back(mask, scores, "batch");
      with_type(mask.tensor->dtype(), [&]<class I>(I) {
        if constexpr (!std::is_same_v<I, std::string>) {
          for (const I value : mask.tensor->values<I>()) {
            if (value != 0 && value != 1)
              fail(mask.name, ": holds ", +value, ", wanted only 0 and 1 (1 = attend)",
                   std::is_floating_point_v<I> ? "; numbers to be added are a --bias" : "");
            given.values.push_back(static_cast<std::uint8_t>(value));
          }
        } else {
          fail(mask.name, ": holds ", name_of(mask.tensor->dtype()),
               " values, wanted booleans or numbers, 1 = attend");
        }
      });
    }
  }

  /// Sets hidden scores of a row to -infinity.
  template <class T>
  void hide(const ScoreRow& row, std::int64_t count, T* scores) const {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    auto hide_from = [&](std::int64_t key) {
      std::fill(scores + std::clamp<std::int64_t>(key - row.first_key, 0, count), scores + count, hidden);
    };
    if (words_.causal) hide_from(causal_keys(row.query, row.n, row.m));
    if (words_.causal_start) hide_from(row.query + 1);
    if (words_.band) {
      const std::int64_t place = row.query + row.m - row.n;
      hide_from(place + words_.band->after + 1);
      std::fill_n(scores, std::clamp<std::int64_t>(place - words_.band->before - row.first_key, 0, count),
                  hidden);
    }
    for (const Overlay<std::uint8_t>& mask : given_) {
      mask.for_row(row, count, scores, [](std::uint8_t attend, T& score) {
        if (!attend) score = hidden;
      });
    }
  }

 private:
  MaskWords words_;
  std::vector<Overlay<std::uint8_t>> given_;
};

/// The bias: f32 or f64, [n, m], [heads, n, m] or [batch, heads, n, m]. -infinity hides a key; NaN and
/// +infinity are refused.
template <class T>
Overlay<T> bias_of(const Operand& operand, const ScoreShape& scores) {
  Overlay<T> bias(operand, scores, "heads");
  with_type(operand.tensor->dtype(), [&]<class Stored>(Stored) {
    if constexpr (std::is_floating_point_v<Stored>) {
      for (const Stored value : operand.tensor->values<Stored>()) {
        if (std::isnan(value) || (std::isinf(value) && value > 0))
          fail(operand.name, ": holds ", value, ", wanted numbers, or -inf to hide a key");
        bias.values.push_back(static_cast<T>(value));
      }
    } else {
      fail(operand.name, ": holds ", name_of(operand.tensor->dtype()),
           " values, wanted float32 or float64; zeros and ones that hide keys are a --mask");
    }
  });
  return bias;
}

}  // namespace heed
