// Writes tensor maps to an open HDF5 file in the layout of lib/io/README.md:
//   - every group with a signal is NXdata (NX_class, signal, axes, default_slice, dataset `title`), the root
//     NXroot;
//   - every named dimension has an int32 dataset 0..n-1 of its name in the group, attached as dimension scale
//     (for parameters one per size, input_64, in the group of all parameters; a tensor of that name is
//     the scale itself);
//   - every byte that matters has a checksum: HDF5's metadata their own, values fletcher32 per chunk; small
//     datasets lie compact in their object header; strings have a checksum as attribute (layout.h);
//   - padding is zero, never a _FillValue;
//   - objects have no timestamps, so equal maps give equal bytes.
// Internal to lib/io.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/h5_handle.h"
#include "io/layout.h"
#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// An image for a pipe is final; a file can grow.
enum class Storage { image, file };

class MapWriter {
 public:
  /// Writes to `file`, which must outlive the writer. `name` is for messages.
  MapWriter(hid_t file, Storage storage, WriteOptions options, std::string name);

  /// The first map determines the layout. Later ones (Storage::file only) must hold the same tensors: those
  /// with a dimension `sentence` are appended along it and extended along position, query, key and rank if
  /// wider than before; the others must equal the first ones.
  void append(const TensorMap& map);

  /// Throws Error as append() would if the names, dimensions or groups of a first map are invalid, and writes
  /// nothing. Use a separate MapWriter for it, and do not append to that.
  void check(const TensorMap& map);

  /// Adds the dimension scales, and marks the first and last frame of a stream.
  void finish(InStream place);
  bool has_started() const { return started_; }

 private:
  struct Dataset {
    Handle id;
    DType dtype;
    Shape extent;
    std::vector<std::string> dims;
    Shape chunk;  ///< empty: compact
    Attributes attributes = {};
    std::uint64_t checksum = 0;  ///< of strings
    std::string digest = {};     ///< of the values when there is no dimension `sentence`
  };
  /// A dimension of a group: its current size and its scale.
  struct Dimension {
    std::int64_t size = 0;
    Handle scale;
  };
  using Dimensions = std::map<std::string, Dimension>;

  void lay_out(const TensorMap& map);
  void extend(const TensorMap& map);
  void write_root(const TensorMap& map);
  hid_t group(const std::string& path);
  void write_group(const TensorMap& map, const std::string& path, const Group& info);
  Dataset new_dataset(const std::string& path, DType dtype, const Shape& shape,
                      const std::vector<std::string>& dims);
  void create_dataset(const std::string& path, const Tensor& tensor);
  void write_scales();
  void attach_scales();
  void create_scale(const std::string& path, const std::string& dim, Dimension& dimension);
  void describe(const Dataset& dataset, const std::string& path);
  /// The dimension of a tensor: its group and the name of its scale there.
  static std::pair<std::string, std::string> place_of(const std::string& path, const std::string& dim,
                                                      std::int64_t size);
  void note_dimensions(const std::string& path, const Tensor& tensor);
  void grow(const std::string& path, Dataset& dataset, const Tensor& tensor);
  void write_values(const std::string& path, Dataset& dataset, const Tensor& tensor, std::int64_t at);
  bool write_chunks(const Dataset& dataset, const Tensor& tensor, const Shape& start,
                    const std::string& place);
  Shape chunk_of(const Shape& shape, const std::vector<std::string>& dims, DType dtype) const;
  Handle creation_list(const Shape& shape, const Shape& chunk, DType dtype) const;
  Handle space_for(const Shape& shape, const std::vector<std::string>& dims) const;
  std::string where(const std::string& path) const { return name_ + ":/" + escaped(path); }

  hid_t file_;
  Storage storage_;
  WriteOptions options_;
  std::string name_;
  bool started_ = false;
  std::int64_t sentences_ = 0;  ///< written so far
  std::map<std::string, Handle> groups_;
  std::map<std::string, Dataset> datasets_;
  std::map<std::string, Dimensions> dimensions_;  ///< by group path
  std::vector<std::byte> chunk_;                  ///< as it is stored
};

}  // namespace heed::io
