// NumPy's files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): .npy, one array
// after a header
//   \x93NUMPY, version, length of the rest, {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// and .npz, a zip archive of them. The header is read by a scanner that accepts these three entries and
// nothing else of Python. The array's bytes must fill the file, or the archive's member, exactly. Arrays of
// Python objects, of records and of bytes are refused.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/foreign/array_file.h"
#include "io/foreign/zip_file.h"

namespace heed::io {

/// One array, named "array". Throws Error if the file `path` is invalid.
std::unique_ptr<ArrayFile> open_npy(const std::string& path);
/// The members NAME.npy of an archive with these members, named NAME; others are ignored.
std::unique_ptr<ArrayFile> open_npz(SeekableFile file, std::vector<ZipMember> members);

}  // namespace heed::io
