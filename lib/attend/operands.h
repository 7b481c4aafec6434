// The tensors that attention without a model reads, seen as rows for every sentence and head.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "io/finite.h"
#include "tensor/padding.h"

namespace heed {

/// An input tensor (f32 or f64, [n, d], [batch, n, d] or, with separate heads, [batch, heads, n, head_dim]; a
/// dimension `layer` of size 1 may follow batch) and its name in messages ("memory.h5:/keys").
struct Operand {
  std::string name;
  const Tensor* tensor = nullptr;
  std::string length_name;
  const Tensor* length = nullptr;  ///< i32 (sentence), or none: all rows count
};

/// "<name>: shape [2, 3]", for messages.
inline std::string describe(const Operand& operand) {
  return operand.name + ": shape " + to_string(operand.tensor->shape());
}

/// The shape of a tensor without its dimension `layer`, if that has size 1.
inline Shape without_layer(const Tensor& tensor) {
  Shape shape = tensor.shape();
  const bool has_layer = shape.size() > 3 && tensor.dims().size() > 1 && tensor.dims()[1] == "layer";
  if (has_layer && shape[1] == 1) shape.erase(shape.begin() + 1);
  return shape;
}

/// An operand as rows of T. The operand must outlive it, unless the rows were projected.
template <class T>
class HeadRows {
 public:
  /// Throws Error unless the operand has a shape as above.
  explicit HeadRows(const Operand& from) : operand(&from) {
    const Tensor& tensor = *from.tensor;
    if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64)
      fail(from.name, ": holds ", name_of(tensor.dtype()), " values, wanted float32 or float64");
    const Shape shape = without_layer(tensor);
    const bool has_layers =
        shape.size() > 3 && tensor.dims().size() == shape.size() && tensor.dims()[1] == "layer";
    if (shape.size() < 2 || shape.size() > 4 || has_layers)
      fail(describe(from), ", wanted [n, d], [batch, n, d] or [batch, heads, n, d], of one layer");
    if (tensor.size() == 0) fail(describe(from), " has no elements");
    cols = shape.back();
    rows = shape[shape.size() - 2];
    shared = shape.size() == 2;
    by_head = shape.size() == 4;
    if (!shared) batch = shape[0];
    if (by_head) heads = shape[1];
    if (tensor.dtype() == dtype_of<T>::value) {
      data_ = tensor.values<T>().data();
    } else if constexpr (std::is_same_v<T, double>) {
      const auto values = tensor.values<float>();
      values_.assign(values.begin(), values.end());
      data_ = values_.data();
    }
  }
  HeadRows(HeadRows&&) = default;
  HeadRows& operator=(HeadRows&&) = default;
  HeadRows(const HeadRows&) = delete;
  HeadRows& operator=(const HeadRows&) = delete;

  std::int64_t batch = 1;  ///< sentences; 1 when `shared`
  std::int64_t heads = 1;
  std::int64_t rows = 0;  ///< of each sentence, padding included
  std::int64_t cols = 0;  ///< of each head when `by_head`, of all heads otherwise
  bool shared = false;    ///< rank 2: one for all sentences
  bool by_head = false;   ///< the heads are a separate dimension; otherwise they lie side by side
  const Operand* operand;

  /// Throws Error for a value that is not finite, SentenceError unless the rows are shared.
  void expect_finite() const {
    const auto check = shared ? io::expect_finite : io::expect_finite_sentences;
    check(operand->name, *operand->tensor);
  }
  /// Splits the columns into heads; throws UsageError if their number does not divide the width.
  void split(std::int64_t n_heads, const char* option) {
    if (by_head && heads != n_heads) {
      fail<UsageError>(option, ": got ", n_heads, ", but ", operand->name, " ",
                       to_string(operand->tensor->shape()), " has ", heads);
    }
    if (!by_head && cols % n_heads != 0) {
      fail<UsageError>(option, ": ", n_heads, " heads do not divide the width ", cols, " of ", operand->name,
                       projected_ ? ", projected" : "");
    }
    heads = n_heads;
  }
  std::int64_t head_dim() const { return by_head ? cols : cols / heads; }
  /// The first `count` rows of one head.
  Matrix<const T> head(std::int64_t sentence, std::int64_t h, std::int64_t count) const {
    if (by_head) return {data_ + ((shared ? 0 : sentence) * heads + h) * rows * cols, count, cols};
    return all(sentence, count).columns(h * head_dim(), head_dim());
  }
  /// The first `count` rows with the heads side by side; not for tensors with separate heads.
  Matrix<const T> all(std::int64_t sentence, std::int64_t count) const {
    return {data_ + (shared ? 0 : sentence) * rows * cols, count, cols};
  }
  /// Replaces the rows by [batch, rows, width].
  void replace(std::vector<T> values, std::int64_t width) {
    values_ = std::move(values);
    data_ = values_.data();
    cols = width;
    projected_ = true;
  }

  /// Replaces the rows, head by head, each [rows, head_dim], which makes the heads a separate dimension:
  /// compute(sentence, from, to) fills `to`, initially zero.
  template <class Compute>
  void transform(const Compute& compute) {
    const std::int64_t width = head_dim(), block = rows * width;
    std::vector<T> values(static_cast<std::size_t>(batch * heads * block));
    for (std::int64_t s = 0; s < batch; ++s) {
      for (std::int64_t h = 0; h < heads; ++h)
        compute(s, head(s, h, rows), Matrix<T>(values.data() + (s * heads + h) * block, rows, width));
    }
    take_heads(std::move(values), rows, width);
  }

  /// Prepends the rows of `earlier` in each sentence, as many as `before` says; padding follows all of them.
  /// The heads of these rows are already split.
  void prepend(const HeadRows& earlier, const Packing& before) {
    const std::int64_t width = head_dim(), all_rows = earlier.rows + rows, sentences = before.sentences();
    std::vector<T> values(static_cast<std::size_t>(sentences * heads * all_rows * width));
    for (std::int64_t s = 0; s < sentences; ++s) {
      const std::int64_t n = before.length(s);
      for (std::int64_t h = 0; h < heads; ++h) {
        const Matrix<T> to(values.data() + (s * heads + h) * all_rows * width, all_rows, width);
        copy_rows(earlier.by_head ? earlier.head(s, h, n) : earlier.all(s, n).columns(h * width, width),
                  to.row_range(0, n));
        copy_rows(head(s, h, rows), to.row_range(n, rows));
      }
    }
    batch = sentences;
    shared = false;
    take_heads(std::move(values), all_rows, width);
  }

  /// The length of each sentence, from the lengths beside the operand unless they are ignored.
  Packing lengths(bool ignored, std::int64_t sentences) const {
    if (!operand->length || ignored || shared) return Packing::uniform(sentences, rows);
    Packing packing = packing_of(operand->length_name, *operand->length, rows);
    if (packing.sentences() != sentences)
      fail("/", operand->length_name, ": ", packing.sentences(), " lengths for ", sentences, " sentences");
    return packing;
  }

 private:
  void take_heads(std::vector<T> values, std::int64_t count, std::int64_t width) {
    values_ = std::move(values);
    data_ = values_.data();
    rows = count;
    cols = width;
    by_head = true;
  }

  std::vector<T> values_;  ///< if the file holds another type, or after replace
  const T* data_ = nullptr;
  bool projected_ = false;
};

}  // namespace heed
