// An HDF5 file driver for reading. It reads an image in memory without copying it, or a file through a
// descriptor that is already open (so stdin works, no name is opened twice and no lock is taken), and checks
// the heaps of strings as they are read: HDF5 1.10 trusts the sizes in them and crashes on wrong ones.
// Internal to lib/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/h5_handle.h"

namespace heed::io {

/// Opens an image for reading. `bytes` must remain valid and unchanged until the file is closed. Throws
/// Error naming `name`.
Handle open_hdf5(std::span<const std::byte> bytes, const std::string& name);

/// Opens the file of descriptor `fd`, `size` bytes long, which must stay open until the file is closed.
Handle open_hdf5(int fd, std::uint64_t size, const std::string& name);

/// False when `block` is a global heap collection with objects beyond its end. True for blocks of any other
/// kind, and for the beginning of a longer collection.
bool is_sound_heap(std::span<const std::byte> block);

}  // namespace heed::io
