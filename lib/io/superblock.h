// The length of an HDF5 image, from its first bytes. It splits a pipe into frames and detects truncated input
// before the HDF5 library reads it. Offsets from the HDF5 File Format Specification, section II.A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heed::io {

inline constexpr std::size_t kSuperblockBytes =
    52;  ///< enough to find the length in every superblock version

/// Length in bytes of the HDF5 image that starts with `head` (at least kSuperblockBytes of it).
/// Throws Error naming `name` when it is not HDF5 or has an unknown layout; the message guesses what it is.
std::uint64_t image_length(std::span<const std::byte> head, const std::string& name);

/// Throws Error with a guess at what `head`, the first bytes of something other than HDF5, belongs to.
[[noreturn]] void fail_not_hdf5(std::span<const std::byte> head, const std::string& name);

/// Is this the start of an HDF5 image? `head` may be short; then as far as it goes.
bool looks_like_hdf5(std::span<const std::byte> head);

}  // namespace heed::io
