// A file or stream of tensor maps, read within this process: the implementation behind FrameReader, run by
// its reading process. Internal to lib/io.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/byte_stream.h"
#include "io/foreign/array_file.h"
#include "io/h5_reader.h"
#include "io/shared_bytes.h"

namespace heed::io {

class Input {
 public:
  static constexpr std::uint64_t kNotHdf5 = UINT64_MAX;
  /// As FrameReader's constructor; `open`: the descriptor of `path`, if already open; `memory`: for the frames
  /// of a stream (shared_bytes.h), not owned. `before` is called with
  /// the descriptor and the size of the file or frame that HDF5 reads next, or with kNotHdf5 before a frame's
  /// bytes are received and before files other than HDF5 are opened (for a path, descriptor -1).
  using Before = std::function<void(int, std::uint64_t)>;
  Input(const std::string& path, Descriptor open, int memory, ReadOptions options, Before before);

  /// As FrameReader's functions. The tensors go to `sink` one at a time, and tensors that can be read
  /// directly from the file or the shared memory to `stored`; `about` receives the groups and the root
  /// attributes. next() may give several frames as one.
  bool next(std::int64_t batch, TensorMap& about, const TensorSink& sink, const ChunkedSink& stored);
  /// From HDF5, next() gives only the tensors at or below these paths, or all where there is none of them.
  void narrow(std::vector<std::string> only);
  void whole(const std::vector<std::string>& only, TensorMap& about, const TensorSink& sink,
             const ChunkedSink& stored);
  void part(const std::vector<std::string>& only, TensorMap& about, const TensorSink& sink,
            const ChunkedSink& stored);
  void layout(TensorMap& about, const TensorSink& sink);

  int descriptor() const { return input_.get(); }
  /// Whether what goes to `stored` is in the file; else it is in the memory.
  bool is_file() const { return is_file_; }
  /// Whether the last result of next() was the first frame of a stream or file.
  bool begins() const { return begins_; }
  /// For a file; 0: unknown.
  std::int64_t sentences() const { return is_file_ ? map_->sentences() : 0; }

 private:
  bool can_be_fetched() const { return is_file_ || image_.is_shared(); }
  bool next_arrays(const TensorSink& sink);
  bool next_rows(const TensorSink& sink);
  MapReader reader_of(Handle file, std::uint64_t size) const;
  bool open_as_file();
  void open_file();
  bool next_image();
  bool read_image();

  std::string name_;
  ReadOptions options_;
  std::vector<std::string> narrowed_;  ///< empty: it is not
  Before before_;
  Descriptor input_;
  std::unique_ptr<ArrayFile> arrays_;  ///< of another program's file; then nothing below is used
  SharedBytes image_;                  ///< the current frame of a stream
  std::optional<Tensor> rows_;         ///< numbers read as text
  std::optional<MapReader> map_;       ///< the file, or the current image of the stream
  std::uint64_t file_size_ = 0;
  bool is_file_ = false;
  bool begins_ = false;
  bool awaits_first_ = true;  ///< nothing of the current file or stream has been returned
  bool at_end_ = false;       ///< the arrays were read, or the last image ended a stream
  std::int64_t images_ = 0;
};

}  // namespace heed::io
