// Whether the chunks of a dataset hold as many bytes as they should. HDF5 1.10 does not ask: it reads past the
// end of what a filter gave it. Internal to lib/io.
#pragma once

#include <string>

#include "io/h5_guard.h"

namespace heed::io {

/// Throws Error when a deflated chunk decodes to another size than a chunk's. Reads all chunks; does nothing
/// for a dataset that is not deflated, as ours are not.
void expect_whole_chunks(const CheckedDataset& dataset, const std::string& where);

}  // namespace heed::io
