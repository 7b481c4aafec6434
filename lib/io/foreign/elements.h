// Elements of arrays as files of other programs store them. Internal to lib/io.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/foreign/seekable_file.h"
#include "tensor/tensor_map.h"

namespace heed::io {

struct ElementKind {
  const char* name;         ///< "bfloat16"
  const char* safetensors;  ///< "BF16"; empty: it has none
  const char* numpy;        ///< "f2": the type string without the byte order; empty: it has none
  int bits;
  /// Reads that many elements of the shape; null: no tensor can hold them.
  Tensor (*read)(const Shape& shape, bool swapped, const NextBytes& next, const std::string& where);
};

/// Null when it is not known.
const ElementKind* element_kind_of_safetensors(std::string_view dtype);
const ElementKind* element_kind_of_numpy(std::string_view code);

/// `count` elements in bits; false when that is more than 2^63.
bool count_bits(const Shape& shape, int bits, std::uint64_t& total);

/// The tensor whose elements `next` gives in row-major order. `swapped`: they are big endian. Throws Error naming `where`
/// when no tensor can hold them.
Tensor read_elements(const ElementKind& kind, const Shape& shape, bool swapped, const NextBytes& next,
                     const std::string& where);

/// float32 as IEEE half precision, rounded to nearest, ties to even; too large becomes infinity.
std::uint16_t to_half(float value);
float from_half(std::uint16_t bits);

}  // namespace heed::io
