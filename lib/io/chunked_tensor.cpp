#include "io/chunked_tensor.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "io/byte_stream.h"
#include "io/copy_part.h"
#include "io/fletcher32.h"
#include "io/layout.h"

namespace heed::io {

namespace {

std::uint64_t bytes_of(DType dtype) {
  return static_cast<std::uint64_t>(item_bytes(dtype));
}

}  // namespace

bool are_possible(std::int64_t chunks, std::int64_t chunk_values, std::uint64_t item_bytes,
                  std::span<const std::int64_t> addresses, std::uint64_t file_size) {
  if (chunk_values <= 0 || static_cast<std::uint64_t>(chunk_values) > kMostFetchedChunk / item_bytes)
    return false;
  const std::uint64_t chunk_bytes = static_cast<std::uint64_t>(chunk_values) * item_bytes + kFletcherBytes;
  return chunks == std::ssize(addresses) && addresses.size() <= file_size / chunk_bytes &&
         std::ranges::all_of(addresses, [&](std::int64_t address) {
           return address >= 0 && static_cast<std::uint64_t>(address) <= file_size - chunk_bytes;
         });
}

bool is_possible(const ChunkedTensor& stored, std::uint64_t file_size) {
  const std::size_t rank = stored.shape.size();
  if (stored.dtype >= DType::string || rank > kMaxRank || stored.chunk.size() != rank ||
      stored.start.size() != rank)
    return false;
  std::int64_t chunks = 1, chunk_values = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = stored.shape[i], chunk = stored.chunk[i], start = stored.start[i];
    std::int64_t end = 0;
    if (size <= 0 || chunk <= 0 || start < 0 || start >= chunk || __builtin_add_overflow(start, size, &end) ||
        __builtin_mul_overflow(chunks, (end - 1) / chunk + 1, &chunks) ||
        __builtin_mul_overflow(chunk_values, chunk, &chunk_values))
      return false;
  }
  return are_possible(chunks, chunk_values, bytes_of(stored.dtype), stored.addresses, file_size);
}

std::uint64_t stored_bytes(const ChunkedTensor& stored) {
  const std::uint64_t chunk =
      static_cast<std::uint64_t>(element_count(stored.chunk)) * bytes_of(stored.dtype) + kFletcherBytes;
  return stored.addresses.size() * chunk;
}

void fetch_values(const ChunkedTensor& stored, int file, std::span<std::byte> values, const Shape& memory,
                  const std::string& where) {
  const std::int64_t item = item_bytes(stored.dtype);
  const Shape shape = in_bytes(stored.shape, item), chunk = in_bytes(stored.chunk, item),
              into = in_bytes(memory, item);
  Shape start = stored.start, end = shape;  // of the tensor within the chunks
  start.push_back(0);
  for (std::size_t i = 0; i < end.size(); ++i) end[i] += start[i];
  const auto chunk_bytes = static_cast<std::size_t>(element_count(chunk));
  // Chunks of whole rows are read where they belong.
  const bool are_rows = into == shape && std::ranges::count(start, 0) == std::ssize(start) &&
                        std::equal(chunk.begin() + 1, chunk.end(), shape.begin() + 1, shape.end());
  std::vector<std::byte> apart;
  const Shape origin(shape.size(), 0);
  Shape at_chunk = origin;
  for (const std::int64_t address : stored.addresses) {
    Shape within(shape.size()), begin(shape.size()), size(shape.size());  // of the chunk's part of the tensor
    for (std::size_t i = 0; i < shape.size(); ++i) {
      within[i] = at_chunk[i] == 0 ? start[i] : 0;
      begin[i] = at_chunk[i] + within[i] - start[i];
      size[i] = std::min(chunk[i], end[i] - at_chunk[i]) - within[i];
    }
    const auto at = static_cast<std::uint64_t>(address);
    bool is_sound;
    if (are_rows && size == chunk) {
      const auto bytes =
          values.subspan(static_cast<std::size_t>(begin[0] / chunk[0]) * chunk_bytes, chunk_bytes);
      std::array<std::byte, kFletcherBytes> sum;
      read_at(file, at, bytes, where);
      read_at(file, at + chunk_bytes, sum, where);
      is_sound = fits_fletcher32(bytes, sum);
    } else {
      apart.resize(chunk_bytes + kFletcherBytes);
      read_at(file, at, apart, where);
      const auto bytes = std::span<const std::byte>(apart).first(chunk_bytes);
      is_sound = fits_fletcher32(bytes, std::span<const std::byte>(apart).last<kFletcherBytes>());
      if (is_sound) copy_part<std::byte>(bytes, chunk, within, values, into, begin, size);
    }
    if (!is_sound)
      fail(where, ": values in the chunk at byte ", address, " do not fit their checksum: damaged");
    next_block(at_chunk, origin, chunk, end);
  }
}

Tensor fetch(ChunkedTensor stored, int file, const std::string& where) {
  Tensor tensor = with_type(stored.dtype, [&]<class T>(T) -> Tensor {
    if constexpr (std::is_arithmetic_v<T>) {
      std::vector<T> values(static_cast<std::size_t>(element_count(stored.shape)));
      fetch_values(stored, file, std::as_writable_bytes(std::span(values)), stored.shape, where);
      return Tensor::of<T>(std::move(values), std::move(stored.shape), std::move(stored.dims));
    }
    fail(where, ": strings are not stored in chunks");
  });
  tensor.attributes = std::move(stored.attributes);
  return tensor;
}

}  // namespace heed::io
