// The tensors that attention without a model reads, seen as rows for every sentence and head.
#pragma once

#include <string>
#include <vector>

#include "tensor/matrix.h"
#include "tensor/packing.h"
#include "tensor/tensor_map.h"

namespace heed {

/// A tensor handed in (f32 or f64, [n, d], [batch, n, d] or, head by head, [batch, heads, n, head_dim]; a
/// dimension `layer` of size 1 may follow batch) and what messages call it ("memory.h5:/keys").
struct Operand {
  std::string name;
  const Tensor* tensor = nullptr;
  std::string length_name;
  const Tensor* length = nullptr;  ///< i32 (sentence), or none: all rows count
};

/// "<name>: shape [2, 3]", for messages.
std::string describe(const Operand& operand);
/// The shape of a tensor without its dimension `layer`, if that has size 1.
Shape without_layer(const Tensor& tensor);

/// An operand's rows of T. The operand must outlive it, unless the rows were projected.
template <class T>
class HeadRows {
 public:
  /// Throws Error unless the operand has a shape as above.
  explicit HeadRows(const Operand& operand);
  HeadRows(HeadRows&&) = default;
  HeadRows& operator=(HeadRows&&) = default;
  HeadRows(const HeadRows&) = delete;
  HeadRows& operator=(const HeadRows&) = delete;

  std::int64_t batch = 1;  ///< sentences; 1 when `shared`
  std::int64_t heads = 1;
  std::int64_t rows = 0;  ///< of each sentence, padding included
  std::int64_t cols = 0;  ///< of each head when `by_head`, of all heads otherwise
  bool shared = false;    ///< rank 2: one for all sentences
  bool by_head = false;   ///< the heads are a dimension of their own; otherwise they lie side by side
  const Operand* operand;

  /// Takes the heads apart; throws UsageError unless they divide the width.
  void split(std::int64_t n_heads, const char* option);
  std::int64_t head_dim() const { return by_head ? cols : cols / heads; }
  /// The first `count` rows of one head.
  Matrix<const T> head(std::int64_t sentence, std::int64_t h, std::int64_t count) const;
  /// The first `count` rows with the heads side by side; not of tensors by head.
  Matrix<const T> all(std::int64_t sentence, std::int64_t count) const;

  /// New rows [batch, rows, width] in the place of the old, for the caller to fill.
  void replace(std::vector<T> values, std::int64_t width);
  Matrix<T> writable(std::int64_t sentence, std::int64_t count) {
    return {values_.data() + sentence * rows * cols, count, cols};
  }

  /// Where each sentence's rows end: by the lengths beside the operand, unless they are ignored.
  Packing lengths(bool ignored, std::int64_t sentences) const;

 private:
  std::vector<T> values_;  ///< when the file holds another type, or after replace
  const T* data_ = nullptr;
  bool projected_ = false;
};

extern template class HeadRows<float>;
extern template class HeadRows<double>;

}  // namespace heed
