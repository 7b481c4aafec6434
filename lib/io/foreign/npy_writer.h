// NumPy's files as they are written: little endian, row-major, version 1.0 of the header (npy.h).
#pragma once

#include <string>
#include <type_traits>

#include "base/error.h"
#include "base/shape.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// "<f4": the type of elements.
template <class T>
std::string npy_type() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return concat(sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

/// What is before the values in a file of them.
std::string npy_header(const std::string& type, const Shape& shape);

/// Writes the tensors of `map` to an archive, NAME.npy each in their order, stored and without dates, so that equal maps give equal bytes;
/// whole or not at all. Throws Error for a tensor of text, and for more than the 4 GB that such an archive holds.
void write_npz(const std::string& path, const TensorMap& map);

}  // namespace heed::io
