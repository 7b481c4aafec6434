// Files of arrays written by other programs, read without HDF5:
//   safetensors    a file, or a folder with model.safetensors or with shards and model.safetensors.index.json
//   .npy, .npz     NumPy's, stored or deflated
//   .pt, .bin      PyTorch's, with a flat dict of tensors; the pickle is not executed
//   .bin           Marian's, also with intgemm's integers
//   PNG, JPEG      pictures, arrays of pixels
// They are recognised by their content. Opening reads and checks headers only: time and memory depend on the
// number of arrays, not on their size. Nothing is allocated for a size before the file is known to be large
// enough for it, so an invalid file costs an error and no memory. safetensors.cpp, zip_file.cpp, npy.cpp,
// state_dict.cpp, marian_binary.h and picture.h describe what is accepted, elements.cpp the types, lib/io/README.md everything
// for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::io {

/// The header's information about an array.
struct ArrayInfo {
  std::string name;
  std::string
      type;  ///< of the elements in the file: "float32", "bfloat16", "bool"; "scaled int8": with a factor, read as
             ///< float32; the file's word if it cannot be read
  Shape shape;
};

class ArrayFile {
 public:
  /// Throws Error if `path` (- is stdin, redirected from a file) has none of the formats above, or is
  /// damaged.
  static std::unique_ptr<ArrayFile> open(const std::string& path);
  virtual ~ArrayFile() = default;

  /// In the order of the file.
  const std::vector<ArrayInfo>& arrays() const { return arrays_; }
  /// safetensors' __metadata__; for shards that of the first.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Reads one array only. Half precision becomes float32, small and unsigned integers the narrowest type
  /// that holds them all, a bool uint8 with the attribute dtype="bool"; dimensions have no names, except
  /// those of a picture. Throws Error for other types.
  virtual Tensor read(std::size_t index) const = 0;
  /// Likewise, in order, by blocks of rows (of the first axis), of which the first is number `first`: a large
  /// array need not be held whole. An array with less than two axes is one block.
  using RowSink = std::function<void(std::int64_t first, const Tensor& rows)>;
  virtual void read_rows(std::size_t index, const RowSink& take) const { take(0, read(index)); }

 protected:
  /// read_rows of an array whose rows are stored one after the other: `read` reads a block from row `first` on.
  using ReadBlock = std::function<Tensor(std::int64_t first, const Shape& block)>;
  static void read_blocks(const Shape& shape, const ReadBlock& read, const RowSink& take);

  std::vector<ArrayInfo> arrays_;
  std::map<std::string, std::string> metadata_;
};

/// Whether `path`, or for - stdin, has one of the formats above; false if it cannot be read.
bool is_array_file(const std::string& path);

}  // namespace heed::io
