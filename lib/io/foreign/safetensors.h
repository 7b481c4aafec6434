// safetensors (https://github.com/huggingface/safetensors): 8 bytes with the length N of the header, N bytes of JSON
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
// and the values, little endian, row-major, one tensor right after the other, to the end of the file; offsets count
// from the end of the header. A model in several files (shards) has model.safetensors.index.json beside them,
//   {"metadata": {...}, "weight_map": {"name": "file", ...}}.
// All a file says is checked before any of it is believed: the length against the file; UTF-8; the JSON, in which a
// name is given once and a number is an integer; type, shape and offsets against each other; the offsets against the file, which
// tensors fill without gap or overlap. A shard lies in the folder itself and holds exactly what the index says.
#pragma once

#include <memory>
#include <string>

#include "io/foreign/array_file.h"

namespace heed::io {

/// Throws Error when the file `path` is not sound.
std::unique_ptr<ArrayFile> open_safetensors(const std::string& path);
/// A model in a folder: `index` is the path of its model.safetensors.index.json.
std::unique_ptr<ArrayFile> open_safetensors_shards(const std::string& index);

/// How floats are written: as they are, or rounded (to nearest, ties to even) to 16 bits.
enum class FloatsAs { float32, float16, bfloat16 };

/// Writes the tensors of `map` to the file `path`, whole or not at all, with the bytes of the format's own library: by
/// type, wide ones first, then by name. Equal maps give equal bytes. A u8 with the attribute dtype="bool" becomes BOOL. Attributes of the root
/// that are text go to __metadata__, except `format`, which is "pt" because loaders ask for it. Throws Error for a tensor of text, and for a
/// finite number that a 16-bit type does not reach.
void write_safetensors(const std::string& path, const TensorMap& map, FloatsAs floats = FloatsAs::float32);

}  // namespace heed::io
