#include "attend/visibility.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tensor/causal_mask.h"

namespace heed {

Overlay::Overlay(const Operand& operand, const ScoreShape& scores, const std::string& third) {
  const Tensor& tensor = *operand.tensor;
  const Shape shape = without_layer(tensor);
  const std::size_t rank = shape.size();
  if (rank < 1 || rank > 4) {
    fail(describe(operand), ", wanted [n, m], [", third, ", n, m] or [batch, heads, n, m]");
  }
  const std::string first = tensor.dims().empty() ? "" : tensor.dims()[0];
  // Which of (batch, heads, n, m) the tensor has.
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

namespace {

template <class I>
void copy_mask(const Operand& mask, std::vector<std::uint8_t>& to) {
  for (const I value : mask.tensor->values<I>()) {
    if (value != 0 && value != 1) {
      fail(mask.name, ": holds ", static_cast<std::int64_t>(value), ", wanted only 0 and 1 (1 = attend)");
    }
    to.push_back(static_cast<std::uint8_t>(value));
  }
}

}  // namespace

Visibility::Visibility(const MaskWords& words, const std::optional<Operand>& mask, const ScoreShape& scores)
    : words_(words) {
  if (!mask) return;
  overlay_.emplace(*mask, scores, "batch");
  const DType type = mask->tensor->dtype();
  if (type == DType::u8) {
    copy_mask<std::uint8_t>(*mask, mask_);
  } else if (type == DType::i32) {
    copy_mask<std::int32_t>(*mask, mask_);
  } else if (type == DType::i64) {
    copy_mask<std::int64_t>(*mask, mask_);
  } else {
    fail(mask->name, ": holds ", name_of(type),
         " values, wanted booleans or integers, 1 = attend; numbers to be added are a --bias");
  }
}

template <class T>
void Visibility::hide(const ScoreRow& row, std::int64_t count, T* scores) const {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  auto hide_from = [&](std::int64_t key) {
    std::fill(scores + std::clamp<std::int64_t>(key - row.first_key, 0, count), scores + count, hidden);
  };
  if (words_.causal) hide_from(causal_keys(row.query, row.n, row.m));
  if (words_.causal_start) hide_from(row.query + 1);
  if (!overlay_) return;
  const std::int64_t step = overlay_->key_stride();
  const std::uint8_t* given =
      mask_.data() + overlay_->row(row.sentence, row.head, row.query) + row.first_key * step;
  for (std::int64_t j = 0; j < count; ++j) {
    if (!given[j * step]) scores[j] = hidden;
  }
}

template void Visibility::hide(const ScoreRow&, std::int64_t, float*) const;
template void Visibility::hide(const ScoreRow&, std::int64_t, double*) const;

template <class T>
Bias<T>::Bias(const Operand& operand, const ScoreShape& scores) : overlay_(operand, scores, "heads") {
  const Tensor& tensor = *operand.tensor;
  auto copy = [&](auto from) {
    for (const auto value : from) {
      if (std::isnan(value) || (std::isinf(value) && value > 0)) {
        fail(operand.name, ": holds ", value, ", wanted numbers, or -inf to hide a key");
      }
      values_.push_back(static_cast<T>(value));
    }
  };
  if (tensor.dtype() == DType::f32) {
    copy(tensor.values<float>());
  } else if (tensor.dtype() == DType::f64) {
    copy(tensor.values<double>());
  } else {
    fail(operand.name, ": holds ", name_of(tensor.dtype()),
         " values, wanted float32 or float64; zeros and ones that hide keys are a --mask");
  }
}

template <class T>
void Bias<T>::add(const ScoreRow& row, std::int64_t count, T* scores) const {
  const std::int64_t step = overlay_.key_stride();
  const T* from = values_.data() + overlay_.row(row.sentence, row.head, row.query) + row.first_key * step;
  for (std::int64_t j = 0; j < count; ++j) scores[j] += from[j * step];
}

template class Bias<float>;
template class Bias<double>;

}  // namespace heed
