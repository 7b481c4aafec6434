// safetensors (https://github.com/huggingface/safetensors): 8 bytes with the length N of the header, N bytes
// of JSON
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
// and the values, little-endian, row-major, one tensor right after the other, to the end of the file; offsets
// count from the end of the header. A model in several files (shards) has model.safetensors.index.json beside
// them,
//   {"metadata": {...}, "weight_map": {"name": "file", ...}}.
// Everything in a file is checked before it is used: the length against the file; UTF-8; the JSON, in which
// names are unique and numbers are integers; type, shape and offsets against each other; the offsets against
// the file, which the tensors fill without gap or overlap. A shard lies in the folder itself and holds
// exactly the tensors listed in the index.
#pragma once

#include <memory>
#include <string>

#include "base/choice.h"
#include "io/foreign/array_file.h"

namespace heed::io {

/// Throws Error if the file `path` is invalid.
std::unique_ptr<ArrayFile> open_safetensors(const std::string& path);
/// A model in a folder: `index` is the path of its model.safetensors.index.json.
std::unique_ptr<ArrayFile> open_safetensors_shards(const std::string& index);

/// How floats are written: unchanged, or rounded (to nearest, ties to even) to 16 bits.
enum class FloatsAs { float32, float16, bfloat16 };
inline const Choice<FloatsAs> kFloatsAs{"--dtype", {"f32", "f16", "bf16"}};

/// Writes the tensors of `map` to the file `path`, atomically and with the bytes of the format's own library:
/// ordered by type, wide ones first, then by name. Equal maps give equal bytes. A u8 with the attribute
/// dtype="bool" becomes BOOL. Text attributes of the root go to __metadata__, except `format`, which is "pt"
/// because loaders require it. Throws Error for a tensor of text, and for a finite number beyond the range of
/// a 16-bit type.
void write_safetensors(const std::string& path, const TensorMap& map, FloatsAs floats = FloatsAs::float32);

}  // namespace heed::io
