// Checks that the chunks of a dataset decode to the right size. HDF5 1.10 does not: it reads past the end of
// a filter's output. Internal to lib/io.
#pragma once

#include <string>

#include "io/h5_guard.h"

namespace heed::io {

/// Throws Error if a deflated chunk decodes to a size other than a chunk's. Reads all chunks; does nothing
/// for a dataset that is not deflated, such as ours.
void expect_whole_chunks(const CheckedDataset& dataset, const std::string& where);

}  // namespace heed::io
