// A tensor whose values lie in a file as they are in memory. The process that reads the file for a tool only says where, and the
// tool fetches them itself: a model's parameters then pass neither HDF5 nor a socket. Internal to lib/io.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::io {

struct ChunkedTensor {
  DType dtype = DType::f32;  ///< a number, little-endian
  Shape shape;
  std::vector<std::string> dims;
  Attributes attributes;
  /// Of the chunks, each of so many values and its Fletcher-32: whole rows, so that the values of one follow those of the one
  /// before. The last may have more than there are, but no chunk has more than the tensor.
  std::int64_t chunk_values = 0;
  std::vector<std::int64_t> addresses;
};

/// A chunk of more bytes is left to HDF5.
inline constexpr std::uint64_t kMostFetchedChunk = std::uint64_t{1} << 26;

/// Whether a file of that size can have so many values at these places, in chunks of `chunk_values`, each with its Fletcher-32.
/// What is not so comes from a process that a damaged file has misled.
bool are_possible(std::int64_t values, std::int64_t chunk_values, std::uint64_t item_bytes,
                  std::span<const std::int64_t> addresses, std::uint64_t file_size);
/// Likewise of a tensor.
bool is_possible(const ChunkedTensor& stored, std::uint64_t file_size);
/// Bytes of its chunks and their checksums in the file.
std::uint64_t stored_bytes(const ChunkedTensor& stored);

/// Reads it from the file of a descriptor, wherever that stands; it must be possible. Throws Error, which begins with `where`,
/// when values do not fit their checksum, or the file has become shorter.
Tensor fetch(ChunkedTensor stored, int file, const std::string& where);

}  // namespace heed::io
