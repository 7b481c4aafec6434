#include "io/chunked_tensor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "io/byte_stream.h"
#include "io/fletcher32.h"
#include "io/layout.h"

namespace heed::io {

namespace {

std::uint64_t bytes_of(DType dtype) {
  return static_cast<std::uint64_t>(item_bytes(dtype));
}

}  // namespace

bool are_possible(std::int64_t values, std::int64_t chunk_values, std::uint64_t item_bytes,
                  std::span<const std::int64_t> addresses, std::uint64_t file_size) {
  if (values < 0 || chunk_values <= 0) return false;
  if (static_cast<std::uint64_t>(chunk_values) > kMostFetchedChunk / item_bytes) return false;
  const std::uint64_t chunk_bytes = static_cast<std::uint64_t>(chunk_values) * item_bytes + kFletcherBytes;
  return values / chunk_values + (values % chunk_values != 0) == std::ssize(addresses) &&
         addresses.size() <= file_size / chunk_bytes &&
         std::ranges::all_of(addresses, [&](std::int64_t address) {
           return address >= 0 && static_cast<std::uint64_t>(address) <= file_size - chunk_bytes;
         });
}

bool is_possible(const ChunkedTensor& stored, std::uint64_t file_size) {
  if (stored.dtype >= DType::string) return false;
  std::int64_t values = 1;
  for (const std::int64_t size : stored.shape)
    if (size <= 0 || __builtin_mul_overflow(values, size, &values)) return false;
  return stored.chunk_values <= values &&
         are_possible(values, stored.chunk_values, bytes_of(stored.dtype), stored.addresses, file_size);
}

std::uint64_t stored_bytes(const ChunkedTensor& stored) {
  const std::uint64_t chunk =
      static_cast<std::uint64_t>(stored.chunk_values) * bytes_of(stored.dtype) + kFletcherBytes;
  return stored.addresses.size() * chunk;
}

Tensor fetch(ChunkedTensor stored, int file, const std::string& where) {
  Tensor tensor = with_type(stored.dtype, [&]<class T>(T) -> Tensor {
    if constexpr (std::is_arithmetic_v<T>) {
      const auto count = static_cast<std::size_t>(element_count(stored.shape)),
                 chunk = static_cast<std::size_t>(stored.chunk_values);
      std::vector<T> values(stored.addresses.size() * chunk);
      for (std::size_t i = 0; i < stored.addresses.size(); ++i) {
        const auto address = static_cast<std::uint64_t>(stored.addresses[i]);
        const auto bytes = std::as_writable_bytes(std::span(values).subspan(i * chunk, chunk));
        std::array<std::byte, kFletcherBytes> sum;
        read_at(file, address, bytes, where);
        read_at(file, address + bytes.size(), sum, where);
        if (!fits_fletcher32(bytes, sum))
          fail(where, ": values ", i * chunk, " to ", std::min((i + 1) * chunk, count) - 1,
               " do not fit their checksum: damaged");
      }
      values.resize(count);
      return Tensor::of<T>(std::move(values), std::move(stored.shape), std::move(stored.dims));
    }
    fail(where, ": strings are not stored in chunks");
  });
  tensor.attributes = std::move(stored.attributes);
  return tensor;
}

}  // namespace heed::io
