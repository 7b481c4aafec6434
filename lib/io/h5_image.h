// Opening and creating HDF5 files, on disk and in memory. Internal to lib/io.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/h5_handle.h"

namespace heed::io {

/// Opens `bytes`, which HDF5 copies. Throws Error naming `name`.
Handle open_image(std::span<const std::byte> bytes, const std::string& name);

/// Creates the file `path`, or one in memory without a file behind it when `in_memory`.
Handle create_hdf5(const std::string& path, bool in_memory, const std::string& name);

/// Opens the file `path` for reading.
Handle open_hdf5(const std::string& path, const std::string& name);

}  // namespace heed::io
