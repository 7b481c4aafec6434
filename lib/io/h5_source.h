// How HDF5 gets at the bytes it reads: through us. A driver of our own reads an image in memory without
// copying it, or a file through the descriptor we already hold (so stdin works, no name is opened twice and
// no lock is taken), and looks at the heaps of strings on their way in: HDF5 1.10 trusts the sizes in them
// and crashes on wrong ones. Internal to lib/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/h5_handle.h"

namespace heed::io {

/// Opens an image for reading. `bytes` must stay as they are until the file is closed. Throws Error naming
/// `name`.
Handle open_hdf5(std::span<const std::byte> bytes, const std::string& name);

/// Opens the file behind the descriptor `fd`, `size` bytes long, which must stay open as long.
Handle open_hdf5(int fd, std::uint64_t size, const std::string& name);

/// Is `block`, when it is a global heap collection, one whose objects all lie inside it? Blocks of any other
/// kind pass, and so does the beginning of a longer collection.
bool is_sound_heap(std::span<const std::byte> block);

}  // namespace heed::io
