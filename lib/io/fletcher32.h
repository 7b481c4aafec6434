// The checksum that follows each chunk of values in our files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heed::io {

/// Size of the checksum after a chunk, little-endian.
inline constexpr std::size_t kFletcherBytes = 4;

/// Fletcher-32 as computed by HDF5: over big-endian 16-bit words.
std::uint32_t fletcher32(std::span<const std::byte> bytes);
/// Stores the checksum of `bytes`.
void put_fletcher32(std::span<const std::byte> bytes, std::span<std::byte, kFletcherBytes> sum);
/// Whether the checksum equals the stored `sum`.
bool fits_fletcher32(std::span<const std::byte> bytes, std::span<const std::byte, kFletcherBytes> sum);

}  // namespace heed::io
