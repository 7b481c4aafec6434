// Input and output of tensor maps, frame by frame. A frame is a complete HDF5 image of at most one batch of
// sentences; lib/io/README.md describes its content.
//
// Input paths:
//   -             stdin. A pipe carries a sequence of frames, the last with the root attribute `stream_end`;
//                 input that ends without it is an error, because the producer has failed. If stdin is
//                 redirected from a file (`< file`), it is read like that file.
//   file.h5       a file, read batch by batch along the dimension `sentence`; made by heed or another program
//   fifo, <(...)  like any other pipe
// Several paths are one input, as are streams and files joined by cat: parts of one text in their order, or texts of
// their own that begin at sentence 0 each, all of one model and vocabulary. Parts must have been made by the same commands;
// texts of their own get a warning where they were not.
// Output paths:
//   -             stdout. In a pipe each frame is sent at once, and finish() sends an empty one with
//                 `stream_end`. Never to a terminal. If stdout is redirected to a file (`> file`), the frames
//                 are gathered into one HDF5 file as with -o.
//   file.h5       the frames, gathered along `sentence` into one file that is put in place atomically; it may
//                 be the input
//   fifo, >(...)  like any other pipe, as is /dev/stdout
// An HDF5 file of another program has no attribute `format`; in a pipe it is a complete stream by itself.
// Memory is bounded by the size of a frame, not of the corpus.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

class FrameReader {
 public:
  /// Opens `path`. Throws Error when it cannot be read or is not HDF5, UsageError when stdin is a terminal.
  explicit FrameReader(const std::string& path, ReadOptions options = {});
  /// The frames of all of them, one path after the other.
  explicit FrameReader(const std::vector<std::string>& paths, ReadOptions options = {});
  /// Likewise, but does not wait until the first path is open: what is wrong with it comes with the first question. For a caller
  /// about to take much memory, such as a model's: the less the process that reads shares with this one, the less is copied.
  static FrameReader begin(const std::vector<std::string>& paths, ReadOptions options = {});
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// The next frame: at most `batch` sentences, padded no wider than their longest. Tensors without a
  /// dimension `sentence` come with every frame. False after the last one. Throws Error when the frame does not go on
  /// where the one before it ended, or was made by another model or vocabulary, or, a part of one text, by other commands.
  bool next(TensorMap& frame);
  /// The rest of the input as one map, untrimmed; of HDF5, unless `only` is empty, the tensors at or below these paths, whatever
  /// the options say. Throws Error when a stream has several frames.
  TensorMap whole(const std::vector<std::string>& only = {});
  /// Likewise, but each tensor goes to `sink` when it has come, so that no more than one is held.
  void whole(const std::vector<std::string>& only,
             const std::function<void(const std::string& path, Tensor tensor)>& sink);
  /// Likewise before the rest is read: whoever reads a model learns from its config which parameters are wanted. Arrays
  /// of other programs have no such part: nothing.
  TensorMap part(const std::vector<std::string>& only);
  /// Of a file: where the values of its datasets of one dimension lie that are integers in checksummed chunks of 2 or 4 bytes
  /// a value, for who maps them (io/columns.h). i64 (chunk), addresses; attributes size, chunk, item_bytes.
  TensorMap layout();
  /// From now on a frame has at most so many sentences.
  void set_batch(std::int64_t sentences);
  /// For messages: the path that the last frame came from, or "<stdin>".
  const std::string& name() const;
  /// Sentences of the whole input; 0: not known before its end.
  std::int64_t sentences() const;

 private:
  struct Impl;
  explicit FrameReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class FrameWriter {
 public:
  /// Opens `path`. Throws Error when it cannot be written (here, before any long computation), UsageError
  /// when stdout is a terminal. The frames are also gathered into the file `keep`, unless it is empty.
  explicit FrameWriter(const std::string& path, WriteOptions options = {}, const std::string& keep = {});
  /// Without finish(): removes the incomplete file, leaves the stream without `stream_end`.
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;

  /// All frames must hold the same tensors. Those with a dimension `sentence` are gathered along it;
  /// position, query, key and rank may vary between frames (zero padding), everything else must be equal.
  /// `is_last`: a stream ends with this frame instead of an empty one.
  void write(const TensorMap& frame, bool is_last = false);
  /// Ends the stream, or puts the finished file in place. Throws Error when writing failed.
  void finish();

  class Sink;  ///< where the frames go (frame_writer.cpp)

 private:
  std::unique_ptr<Sink> sink_;
};

/// One complete map: models, vocabularies and small files. `path` as above.
TensorMap read_map(const std::string& path, ReadOptions options = {});
void write_map(const std::string& path, const TensorMap& map, WriteOptions options = {});

}  // namespace heed::io
