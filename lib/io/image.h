// A tensor map as the bytes of an HDF5 file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "io/layout.h"
#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// One frame of a stream: `map` as a complete HDF5 file with a superblock of version 3, whose length is at
/// byte 28. `place` adds the attributes `stream_begin` and `stream_end`. `name` is for messages.
std::vector<std::byte> to_image(const TensorMap& map, const WriteOptions& options, InStream place,
                                const std::string& name);

}  // namespace heed::io
