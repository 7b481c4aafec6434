// The JSON of safetensors: the header of a file and the index of a folder. Internal to lib/io.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/foreign/elements.h"
#include "io/foreign/seekable_file.h"

namespace heed::io {

struct StoredTensor {
  std::string name;
  const ElementKind* kind = nullptr;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< byte range in the file
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their values
  std::map<std::string, std::string> metadata;
};

/// Throws Error if anything in it is invalid.
SafetensorsHeader read_safetensors_header(const SeekableFile& file);

/// Maps the name of each tensor to its shard.
std::map<std::string, std::string> read_safetensors_index(const SeekableFile& file);

}  // namespace heed::io
