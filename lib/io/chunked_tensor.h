// A tensor whose values are stored in a file exactly as in memory. The process that reads the file for a tool
// sends only their location, and the tool reads them itself: a model's parameters then pass neither through
// HDF5 nor through a socket. Internal to lib/io.
#pragma once

#include <cstddef>
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
  Shape chunk;  ///< sizes of a chunk, which a Fletcher-32 follows
  Shape start;  ///< where the tensor begins within the first of the chunks that hold it
  std::vector<std::int64_t> addresses;  ///< of those chunks, in row-major order
};

/// Larger chunks are left to HDF5.
inline constexpr std::uint64_t kMostFetchedChunk = std::uint64_t{1} << 26;

/// Whether a file of `file_size` bytes can hold `chunks` chunks of `chunk_values` values, each with a Fletcher-32
/// checksum, at these addresses. If not, a damaged file misled the process that sent the addresses.
bool are_possible(std::int64_t chunks, std::int64_t chunk_values, std::uint64_t item_bytes,
                  std::span<const std::int64_t> addresses, std::uint64_t file_size);
/// Whether a tensor can be stored as described in a file of that size.
bool is_possible(const ChunkedTensor& stored, std::uint64_t file_size);
/// Bytes of its chunks and checksums in the file; not less than the tensor has.
std::uint64_t stored_bytes(const ChunkedTensor& stored);

/// Reads the tensor, which must be possible, from a file descriptor at any offset. Throws Error beginning
/// with `where` if values do not match their checksum, or the file has become shorter.
Tensor fetch(ChunkedTensor stored, int file, const std::string& where);
/// Likewise into memory that has the shape `memory`, of which the values take the beginning of each axis.
void fetch_values(const ChunkedTensor& stored, int file, std::span<std::byte> values, const Shape& memory,
                  const std::string& where);

}  // namespace heed::io
