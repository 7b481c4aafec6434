// Array elements as stored in files of other programs. Internal to lib/io.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/foreign/seekable_file.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// More are refused, in every format whose header has names.
inline constexpr std::size_t kMostNameBytes = 4096, kMostDimensions = 64;

struct ElementKind {
  const char* name;         ///< "bfloat16"
  const char* safetensors;  ///< "BF16"; empty: not in that format
  const char* numpy;        ///< "f2": the type string without byte order; empty: not in that format
  int bits;
  /// Reads the elements of the shape; null: no tensor type can hold them.
  Tensor (*read)(const Shape& shape, bool swapped, const NextBytes& next, const std::string& where);
};

/// Null if the type is unknown.
const ElementKind* element_kind_of_safetensors(std::string_view dtype);
const ElementKind* element_kind_of_numpy(std::string_view code);

/// `count` elements in bits; false when that is more than 2^63.
bool count_bits(const Shape& shape, int bits, std::uint64_t& total);

/// Builds the tensor from the elements that `next` yields in row-major order. `swapped`: they are big-endian.
/// Throws Error naming `where` if no tensor type can hold them.
Tensor read_elements(const ElementKind& kind, const Shape& shape, bool swapped, const NextBytes& next,
                     const std::string& where);

/// The tensor of this shape whose elements the other has in Fortran order, the first axis changing fastest.
Tensor in_c_order(const Tensor& tensor, const Shape& shape);

/// float32 as IEEE half precision, rounded to nearest, ties to even; too large becomes infinity.
std::uint16_t to_half(float value);
float from_half(std::uint16_t bits);

}  // namespace heed::io
