// The first bytes of an HDF5 image say how long it is. This is what splits a pipe into frames, and what
// refuses short input before the HDF5 library sees it. Offsets from the HDF5 File Format Specification,
// section II.A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heed::io {

inline constexpr std::size_t kSuperblockBytes =
    52;  ///< enough to find the length in every superblock version

/// Length in bytes of the HDF5 image that starts with `head` (at least kSuperblockBytes of it).
/// Throws Error naming `name` when it is no HDF5 or of an unknown layout; says what it looks like instead.
std::uint64_t image_length(std::span<const std::byte> head, const std::string& name);

/// Throws Error that says what `head`, the first bytes of something that is no HDF5, looks like.
[[noreturn]] void fail_not_hdf5(std::span<const std::byte> head, const std::string& name);

/// Is this the start of an HDF5 image? `head` may be short; then as far as it goes.
bool looks_like_hdf5(std::span<const std::byte> head);

}  // namespace heed::io
