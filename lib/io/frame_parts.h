// Frames cut into smaller ones and joined into larger ones along `sentence`. HDF5 needs much the same time for
// a frame of one sentence as for one of a hundred, so files are read and written in large frames, whatever
// the size of those that a tool works on. Internal to lib/io.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/shape.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// The widths to which a batch is trimmed: those of each group's longest sentence.
class TrimmedWidths {
 public:
  /// A tensor without sentences: its dimensions are not trimmed.
  void keep(const std::string& path, const std::vector<std::string>& dims);
  /// Whether the tensor at `path`, with sentences, has the lengths of a dimension that is trimmed.
  bool are_lengths(const std::string& path, DType dtype) const;
  void set_lengths(const std::string& path, const Tensor& lengths);
  /// The width of a dimension of the tensor at `path`, at most `size`.
  std::int64_t of(const std::string& path, const std::string& dim, std::int64_t size) const;
  /// Forgets the lengths, before a further batch.
  void clear() { longest_.clear(); }

 private:
  std::string dim_of_lengths(const std::string& path) const;  ///< "<group>/<dim>", or ""

  std::set<std::string> kept_;                   ///< "<group>/<dim>"
  std::map<std::string, std::int64_t> longest_;  ///< by "<group>/<dim>"
};

/// A frame that is handed out in parts.
class FrameCutter {
 public:
  /// Throws Error, naming `name`, unless all tensors with sentences have the same number of them.
  void begin(TensorMap frame, const std::string& name);
  /// Moves the next sentences to `part`, at most this number, trimmed to the longest of them; tensors without
  /// sentences come with every part. A frame that has no more sentences than that, or none, comes as it is. False after
  /// the last part.
  bool next(std::int64_t sentences, TensorMap& part);

 private:
  TensorMap frame_;
  std::int64_t sentences_ = 0, first_ = 0, at_ = 0;
  bool at_end_ = true;
};

/// Frames that wait to be written as one.
class FrameJoiner {
 public:
  bool is_empty() const { return frames_.empty(); }
  std::int64_t sentences() const { return sentences_; }
  std::int64_t bytes() const { return bytes_; }
  /// Copies `frame`; false if it does not fit those that wait, if padding would make all much larger, or if it must
  /// be written alone.
  bool add(const TensorMap& frame);
  /// All frames as one, padded to the widest, with the groups and attributes of the first.
  TensorMap take();

 private:
  std::vector<TensorMap> frames_;
  std::vector<Shape> shapes_;  ///< of the tensors of all as one
  std::int64_t sentences_ = 0, bytes_ = 0;
};

}  // namespace heed::io
