// A tensor map as the bytes of an HDF5 file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// One frame of a stream: `map` as a complete HDF5 file with a superblock of version 3, whose length is at
/// byte 28. `is_last` adds the attribute `stream_end`. `name` is for messages.
std::vector<std::byte> to_image(const TensorMap& map, const WriteOptions& options, bool is_last,
                                const std::string& name);

}  // namespace heed::io
