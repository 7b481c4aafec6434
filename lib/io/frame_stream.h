// Tensor maps in and out, frame by frame: what every tool is built on.
//
// What an input path may mean:
//   -            stdin. A pipe is a sequence of frames, each a complete HDF5 image of at most one batch of
//   sentences.
//                The last one carries the root attribute `stream_end`; input that stops without it is an
//                error, for the producer has died. Redirected from a file (`< file`) it is read like the
//                file.
//   file.h5      a file, walked batch by batch along the dimension `sentence`; made by heed or by other hands
//   (h5py). fifo, <(..)  a pipe like any other.
// What an output path may mean:
//   -            stdout: each frame leaves as soon as it is written, finish() sends an empty frame with
//   `stream_end`, so
//                that no frame waits for the next. Never to a terminal. Redirected to a file (`> file`) the
//                frames are gathered into one HDF5 file, as with -o.
//   file.h5      the frames gathered along `sentence` into one file that appears whole or not at all; may be
//   the input. fifo, /dev/stdout, >(..)  a pipe like any other.
// An HDF5 file of other programs has no attribute `format`; in a pipe it is a stream of its own and needs no
// end mark. Memory is bounded by a frame, whatever the size of the corpus.
#pragma once

#include <memory>
#include <string>

#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

class FrameReader {
 public:
  /// Opens `path`. Throws Error when it cannot be read or is no HDF5, UsageError when stdin is a terminal.
  explicit FrameReader(const std::string& path, ReadOptions options = {});
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// The next frame: at most `batch` sentences, padded no wider than their longest. Tensors without a
  /// dimension `sentence` come with every frame. False after the last one.
  bool next(TensorMap& frame);
  /// The rest of the input as one map, untrimmed. Throws Error when a stream has several frames.
  TensorMap whole();
  /// For messages: the path, or "<stdin>".
  const std::string& name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class FrameWriter {
 public:
  /// Opens `path`; an output that cannot be written is refused here, before any long computation. Throws
  /// Error, or UsageError when stdout is a terminal.
  explicit FrameWriter(const std::string& path, WriteOptions options = {});
  /// Without finish(): removes the unfinished file, leaves the stream without its end mark.
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;
  FrameWriter& operator=(FrameWriter&&) noexcept;

  /// All frames hold the same tensors. Those with a dimension `sentence` are gathered along it; position,
  /// query, key and rank may differ from frame to frame (zero padding), everything else must stay equal.
  void write(const TensorMap& frame);
  /// Ends the stream, or puts the finished file in place. Throws Error when anything failed to reach the
  /// disk.
  void finish();
  /// For messages: the path, or "<stdout>".
  const std::string& name() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A whole map at once, for models, vocabularies and small files. `path` as above.
TensorMap read_map(const std::string& path, ReadOptions options = {});
void write_map(const std::string& path, const TensorMap& map, WriteOptions options = {});

}  // namespace heed::io
