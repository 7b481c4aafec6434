// PyTorch checkpoints as written by torch.save since 1.6, with a flat dict of tensors: a zip archive of
// PREFIX/data.pkl, which describes the tensors (state_dict.h), and PREFIX/data/KEY, the values of each
// storage. Stored, little-endian.
#pragma once

#include <memory>
#include <vector>

#include "io/foreign/array_file.h"
#include "io/foreign/zip_file.h"

namespace heed::io {

/// Whether an archive has such members, and none of NumPy's.
bool is_torch_archive(const std::vector<ZipMember>& members);
/// The tensors, in the order of the dict, of an archive with these members. Throws Error if it is invalid.
std::unique_ptr<ArrayFile> open_torch(SeekableFile file, std::vector<ZipMember> members);

}  // namespace heed::io
