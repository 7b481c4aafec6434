// Writes NumPy's files: little-endian, row-major, header version 1.0 (npy.h).
#pragma once

#include <string>
#include <type_traits>

#include "base/error.h"
#include "base/shape.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// "<f4": the type string of the elements.
template <class T>
std::string npy_type() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return concat(sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

/// The header before the values of a file.
std::string npy_header(const std::string& type, const Shape& shape);

/// Writes the tensors of `map` to an archive atomically, each as NAME.npy in their order, stored and without
/// dates, so that equal maps give equal bytes. Throws Error for a tensor of text, and beyond the 4 GB that
/// such an archive holds.
void write_npz(const std::string& path, const TensorMap& map);

}  // namespace heed::io
