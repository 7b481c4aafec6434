// The scores of words before the softmax, as search reads them.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/arena.h"
#include "tensor/kernels.h"
#include "tensor/matrix.h"
#include "tensor/packed_weights.h"

namespace heed {

/// The k best columns of each row of a b + bias, best first, equal values in the order of their columns, and their values.
/// Unlike log_softmax_top_k it computes no exponentials; a row that has NaN or +infinity gets NaN for its values.
/// bias may be empty.
template <class T>
void top_logits(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, std::int64_t k,
                Matrix<T> values, Matrix<std::int32_t> indices);

/// Logits [n, vocabulary], at hand or a product of states [n, d] and weights, with a bias or none, of which
/// no more is computed than is asked for. What it was made of must outlive it.
template <class T>
class Logits {
 public:
  Logits() = default;
  Logits(Matrix<const T> all) : all_(all) {}
  Logits(Matrix<const T> states, const PackedMatrix<T>& weight, std::span<const T> bias, Arena& arena)
      : states_(states), weight_(&weight), bias_(bias), arena_(&arena) {}

  std::int64_t rows() const { return weight_ ? states_.rows : all_.rows; }
  std::int64_t cols() const { return weight_ ? weight_->cols : all_.cols; }

  /// Of each row the k best and their log-probabilities, as log_softmax_top_k has them.
  void top_k(std::int64_t k, Matrix<T> values, Matrix<std::int32_t> indices) const {
    if (weight_)
      log_softmax_top_k<T>(states_, *weight_, bias_, k, values, indices);
    else
      log_softmax_top_k<T>(all_, k, values, indices);
  }
  /// The same columns in the same order, at less cost: values are finite where log-probabilities are, and otherwise have
  /// no meaning.
  void top_k_unscored(std::int64_t k, Matrix<T> values, Matrix<std::int32_t> indices) const {
    if (weight_)
      top_logits<T>(states_, *weight_, bias_, k, values, indices);
    else
      top_k(k, values, indices);
  }
  /// All of them; in the arena's memory when they were no matrix yet.
  Matrix<const T> all() const {
    if (!weight_) return all_;
    const Matrix<T> product = arena_->matrix<T>(rows(), cols());
    multiply_packed<T>(states_, *weight_, bias_, Activation::none, product);
    return product;
  }

 private:
  Matrix<const T> all_, states_;
  const PackedMatrix<T>* weight_ = nullptr;
  std::span<const T> bias_;
  Arena* arena_ = nullptr;
};

}  // namespace heed
