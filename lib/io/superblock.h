// The length of an HDF5 image, from its first bytes. It splits a pipe into frames and detects truncated input
// before the HDF5 library reads it. Offsets from the HDF5 File Format Specification, section II.A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heed::io {

inline constexpr std::size_t kSuperblockBytes =
    52;  ///< enough to find the length in every superblock version

/// The little-endian number in these bytes.
inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(bytes[i]);
  return value;
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Length in bytes of the HDF5 image that starts with `head` (at least kSuperblockBytes of it). Throws Error
/// naming `name` if it is not HDF5 or has an unknown layout; the message guesses what it is.
std::uint64_t image_length(std::span<const std::byte> head, const std::string& name);

/// Whether `path` is a file that begins with an HDF5 signature; false for -, pipes and devices, which can be
/// read only once.
bool is_hdf5_file(const std::string& path);

/// Throws Error naming what was wanted ("a model") if `path` is a file with other content than HDF5 or another
/// program's arrays. What cannot be read, or only once, is left to the reader.
void expect_hdf5_file(const std::string& path, const std::string& wanted);

/// Whether `head`, possibly short, may be the beginning of an HDF5 image.
bool looks_like_hdf5(std::span<const std::byte> head);

}  // namespace heed::io
