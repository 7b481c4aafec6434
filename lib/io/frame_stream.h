// Input and output of tensor maps, frame by frame. A frame is a complete HDF5 image of at most one batch of
// sentences; lib/io/README.md describes its content.
//
// Input paths:
//   -             stdin. A pipe carries a sequence of frames, the last with the root attribute `stream_end`;
//                 input that ends without it is an error, because the producer has failed. If stdin is
//                 redirected from a file (`< file`), it is read like that file.
//   file.h5       a file, read batch by batch along the dimension `sentence`; made by heed or another program
//   fifo, <(...)  like any other pipe
// Several paths are one input, as are streams and files joined by cat: either consecutive parts of one text,
// or separate texts that each begin at sentence 0, all of one model and vocabulary. Parts must have been made
// by the same commands; separate texts get a warning if they were not.
// Output paths:
//   -             stdout. In a pipe each frame is sent at once, and finish() sends an empty one with
//                 `stream_end`. Never to a terminal. If stdout is redirected to a file (`> file`), the frames
//                 are gathered into one HDF5 file as with -o.
//   file.h5       the frames, gathered along `sentence` into one file that is put in place atomically; it may
//                 be the input
//   fifo, >(...)  like any other pipe, as is /dev/stdout
// An HDF5 file of another program has no attribute `format`; in a pipe it is a complete stream by itself.
// Memory is bounded by the size of the frames under way, not of the corpus.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "io/options.h"
#include "tensor/matrix.h"
#include "tensor/tensor_map.h"

namespace heed::io {

class FrameReader {
 public:
  /// Opens `path`. Throws Error if it cannot be read or is not HDF5, UsageError if stdin is a terminal.
  explicit FrameReader(const std::string& path, ReadOptions options = {});
  /// Reads the frames of all paths, one after the other.
  explicit FrameReader(const std::vector<std::string>& paths, ReadOptions options = {});
  /// Reads the frames of all paths without waiting until the first is open: errors in it are reported on
  /// first use. Call it before allocating much memory, such as a model: less memory shared with the reading
  /// process means less to copy.
  static FrameReader begin(const std::vector<std::string>& paths, ReadOptions options = {});
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// Reads the next frame: at most `batch` sentences, padded to the longest of them. Tensors without a
  /// dimension `sentence` come with every frame. False after the last one. Throws Error if the frame does not
  /// continue the previous one, or was made by another model or vocabulary, or, being part of the same text,
  /// by other commands. No other function that reads may follow it.
  bool next(TensorMap& frame);
  /// The rest of the input as one map, untrimmed; from HDF5, unless `only` is empty, only the tensors at or
  /// below these paths, overriding the options. Throws Error if a stream has several frames.
  TensorMap whole(const std::vector<std::string>& only = {});
  /// Memory for the values of a float32 tensor, a row for each of its last axis; without data: there is none.
  using FloatPlace = std::function<Matrix<float>(const std::string& path, const Shape& shape)>;
  /// Passes each tensor to `sink` as it arrives, so that only one is held at a time. Those that the file holds as
  /// they are in memory are read into their place instead, if they have one, and not passed on.
  void whole(const std::vector<std::string>& only,
             const std::function<void(const std::string& path, Tensor tensor)>& sink,
             const FloatPlace& place = {});
  /// Reads these paths ahead of the rest: the config of a model determines which parameters are wanted. Empty
  /// for arrays of other programs.
  TensorMap part(const std::vector<std::string>& only);
  /// For a file: the location of the values of its one-dimensional integer datasets in checksummed chunks of
  /// 2 or 4 bytes per value, to be mapped (io/columns.h). i64 (chunk), addresses; attributes size, chunk,
  /// item_bytes.
  TensorMap layout();
  /// Limits the following frames to this number of sentences. Call it before next().
  void set_batch(std::int64_t sentences);
  /// Restricts frames in HDF5 to the tensors at or below these paths; a frame that has none of them comes
  /// whole. Call it before next().
  void set_only(std::vector<std::string> paths);
  /// Sets a hook that receives the function which opens the next path. It must call that function while no other thread
  /// holds a lock: opening forks, only the calling thread exists in the child, and another thread's lock would never be
  /// released there.
  void set_around_open(std::function<void(const std::function<void()>& open)> around);
  /// Makes next() throw, also if another thread is waiting in it for input. Not to be called while a path is opened.
  void interrupt();
  /// For messages: the path that the last frame came from, or "<stdin>".
  const std::string& name() const;
  /// Number of sentences of the whole input; 0: unknown before its end.
  std::int64_t sentences() const;

 private:
  struct Impl;
  explicit FrameReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class FrameWriter {
 public:
  /// Opens `path`. Throws Error if it cannot be written (before any long computation), UsageError if stdout
  /// is a terminal. If `keep` is not empty, the frames are also gathered into that file.
  explicit FrameWriter(const std::string& path, WriteOptions options = {}, const std::string& keep = {});
  /// Without finish(): removes the incomplete file, leaves the stream without `stream_end`.
  ~FrameWriter();
  FrameWriter(FrameWriter&&) noexcept;

  /// All frames must hold the same tensors. Those with a dimension `sentence` are concatenated along it;
  /// position, query, key and rank may vary between frames (zero padding), everything else must be equal.
  /// `is_last`: the stream ends with this frame instead of an empty one.
  void write(const TensorMap& frame, bool is_last = false);
  /// Likewise, with WriteOptions::ahead by another thread while the caller goes on: the next call waits for it and
  /// throws its Error.
  void write(TensorMap&& frame);
  /// Waits for what is still being written. Call it before another result is put in place.
  void await_written();
  /// Ends the stream, or puts the finished file in place. Throws Error if writing failed.
  void finish();

  class Sink;  ///< where the frames go (frame_writer.cpp)

 private:
  bool ahead_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Aside> written_;  ///< what is still being written to sink_
};

/// Reads one complete map: models, vocabularies and small files. `path` as above.
TensorMap read_map(const std::string& path, ReadOptions options = {});
void write_map(const std::string& path, const TensorMap& map, WriteOptions options = {});

}  // namespace heed::io
