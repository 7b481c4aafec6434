// The checksum that follows each chunk of values in our files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heed::io {

/// Bytes that it takes after a chunk, little-endian.
inline constexpr std::size_t kFletcherBytes = 4;

/// Fletcher-32 as HDF5 computes it: of big-endian words of 16 bits.
std::uint32_t fletcher32(std::span<const std::byte> bytes);
/// Whether it is the number that is stored as `sum`.
bool fits_fletcher32(std::span<const std::byte> bytes, std::span<const std::byte, kFletcherBytes> sum);

}  // namespace heed::io
