// Conversion between the packed rows that models compute on and the padded tensors of files. A padded tensor
// has the dimensions (sentence, position, ...) and zeros after each sentence's length.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "tensor/matrix.h"
#include "tensor/packing.h"
#include "tensor/tensor_map.h"

namespace heed {

/// What floating-point values a reader takes.
enum class Values { finite, any };
inline Values values_wanted(bool allow_nonfinite) {
  return allow_nonfinite ? Values::any : Values::finite;
}
/// The help of --allow-nonfinite, which every tool that checks has.
inline constexpr const char* kAllowNonfinite = "let NaN and infinity in the tensors pass";

/// The packing that an i32 or i64 tensor of lengths (sentence) states. Throws Error, naming `name`, unless
/// every length lies within 1 .. longest.
Packing packing_of(const std::string& name, const Tensor& lengths, std::int64_t longest);
/// The inverse: lengths as i32 (sentence).
Tensor lengths_of(const Packing& rows);
/// 1 at positions that are not padding, u8 (sentence, position) marked as boolean.
Tensor mask_of(const Packing& rows);

/// Packed rows [rows, d] as f32 (sentence, position, dim).
Tensor pad(Matrix<const float> packed, const Packing& rows);
/// The rows of `padded` f32 (sentence, position, dim) without padding, one sentence after the other. Throws
/// Error, naming `name`, when the shapes do not fit or a value is not as wanted.
std::vector<float> unpad(const std::string& name, const Tensor& padded, const Packing& rows,
                         Values wanted = Values::finite);

/// The matrix that the last two dimensions of `tensor` are at this index of the others.
template <class T>
Matrix<T> matrix_at(Tensor& tensor, const Shape& index) {
  const Shape& shape = tensor.shape();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) at = at * shape[i] + index[i];
  const std::int64_t rows = shape[shape.size() - 2], cols = shape.back();
  return {tensor.values<T>().data() + at * rows * cols, rows, cols};
}

/// Ids i32 (sentence, position) with lengths i32 (sentence) and, where there are any, types like ids, as packed tokens.
/// Throws Error, naming `group`, on ids outside 0 .. vocabulary_size - 1.
PackedTokens tokens_of(const TensorMap& map, const std::string& group, std::int64_t vocabulary_size);

}  // namespace heed
