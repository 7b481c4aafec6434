// New HDF5 files. Internal to lib/io.
#pragma once

#include <string>

#include "io/h5_handle.h"

namespace heed::io {

/// Creates or truncates the file `path`. Throws Error naming `name`.
Handle create_hdf5(const std::string& path, const std::string& name);

}  // namespace heed::io
