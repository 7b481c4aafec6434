// Files of arrays that other programs write, read without HDF5:
//   safetensors    a file, or a folder with model.safetensors or with shards and model.safetensors.index.json
//   .npy, .npz     NumPy's, stored or deflated
//   .pt, .bin      PyTorch's, of a flat dict of tensors; nothing of its pickle is run
//   PNG, JPEG      pictures, arrays of pixels
// They are recognised by their content. Opening reads and checks headers only: it takes time and memory by the
// number of arrays, not by their size. Nothing is allocated for a size before the file was seen to be large enough
// for it, so a file that lies costs an error and no memory. safetensors.cpp, zip_file.cpp, npy.cpp, state_dict.cpp and picture.h say what is
// accepted, elements.cpp which types, lib/io/README.md all of it for users.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::io {

/// What the header says about an array.
struct ArrayInfo {
  std::string name;
  std::string
      type;  ///< of the elements in the file: "float32", "bfloat16", "bool"; the file's word if it cannot be read
  Shape shape;
};

class ArrayFile {
 public:
  /// Throws Error when `path` (- is stdin, redirected from a file) is none of the formats above, or damaged.
  static std::unique_ptr<ArrayFile> open(const std::string& path);
  virtual ~ArrayFile() = default;

  /// In the order of the file.
  const std::vector<ArrayInfo>& arrays() const { return arrays_; }
  /// What safetensors' __metadata__ says; of shards that of the first.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Reads one array, nothing else. Half precision becomes float32, small and unsigned integers the narrowest
  /// type that holds them all, a bool uint8 with the attribute dtype="bool"; no dimension has a name, but
  /// those of a picture. Throws Error for other types.
  virtual Tensor read(std::size_t index) const = 0;

 protected:
  std::vector<ArrayInfo> arrays_;
  std::map<std::string, std::string> metadata_;
};

/// Whether the content of `path` is one of the formats above, or - is such a file; false for what cannot be read.
bool is_array_file(const std::string& path);

}  // namespace heed::io
