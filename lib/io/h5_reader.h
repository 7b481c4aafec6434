// Reads tensor maps from an open HDF5 file, validated by h5_guard.h, whole or batch by batch along the
// dimension `sentence`. Internal to lib/io.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/chunked_tensor.h"
#include "io/frame_parts.h"
#include "io/h5_guard.h"
#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// Receives a tensor and its path.
using TensorSink = std::function<void(const std::string&, Tensor)>;
/// Receives a tensor that can be read directly from the file instead.
using ChunkedSink = std::function<void(const std::string&, ChunkedTensor)>;

class MapReader {
 public:
  /// Validates `file`, which is `stored` bytes long, and lists the wanted tensors; reads no values yet.
  MapReader(Handle file, std::uint64_t stored, const ReadOptions& options, std::string name);
  /// Restricts the list to the tensors at or below these paths.
  void narrow(const std::vector<std::string>& only);

  /// Reads the next batches of sentences, several if they are small (frame_parts.h): from tensors with a
  /// dimension `sentence` their part, trimmed to the longest sentence; all others whole. The tensors go to
  /// `sink`, those that can be read without HDF5 to `stored`, unless it is empty; groups and root attributes
  /// to `about`. False at the end; a file without sentences is a single batch.
  bool next_batches(std::int64_t batch, TensorMap& about, const TensorSink& sink, const ChunkedSink& stored);
  /// Reads everything, untrimmed, likewise.
  void whole(TensorMap& about, const TensorSink& sink, const ChunkedSink& stored);

  /// See FrameReader::layout().
  void layout(TensorMap& about, const TensorSink& sink);

  bool is_empty() const { return entries_.empty(); }
  bool is_heed() const;  ///< has the attribute `format`
  bool is_first_of_stream() const { return begins_stream_; }
  bool is_last_of_stream() const { return ends_stream_; }
  std::int64_t sentences() const { return std::max<std::int64_t>(sentences_, 0); }

 private:
  struct Entry {
    std::string path;
    haddr_t address;  ///< of its header; increases from one dataset to the next
    CheckedDataset dataset;
    std::vector<std::string> dims;
    Attributes attributes;
    std::ptrdiff_t sentence_axis = -1;
    bool has_whole_chunks = false;         ///< known, or checked
    std::optional<std::int64_t> checksum;  ///< of strings, until they have been verified
  };
  using Window = std::vector<std::pair<std::int64_t, std::int64_t>>;  ///< start and count per axis

  Handle open_root() const;
  void read_root(hid_t root);
  void list(hid_t root);
  void walk(hid_t group, const std::string& path, int depth);
  void add_dataset(const std::string& path, const std::string& group_path, Handle object);
  void read_group(hid_t group, const std::string& path);
  std::vector<std::string> dims_of(const Entry& entry) const;
  std::vector<std::string> dims_from_scales(const Entry& entry) const;
  void finish_catalogue();
  void hand_over(Entry& entry, const Window& window, const TensorSink& sink, const ChunkedSink& stored,
                 std::uint64_t& unfetched);
  Tensor read(Entry& entry, const Window& window);
  Tensor read_values(const Entry& entry, const Window& window);
  std::optional<ChunkedTensor> find_stored(const Entry& entry, const Window& window,
                                           std::uint64_t& unfetched);
  void check_strings(Entry& entry);
  void expect_checksum(const Entry& entry, std::uint64_t sum) const;
  Window whole_window(const Entry& entry) const;
  void describe(TensorMap& about) const;
  std::int64_t sentences_at_once(std::int64_t batch) const;
  void read_lengths(std::int64_t start, std::int64_t count);
  std::string where(const std::string& path) const { return name_ + ":/" + escaped(path); }

  Handle file_;
  std::uint64_t stored_;  ///< size of the file in bytes
  std::string name_;
  ReadOptions options_;
  ByteBudget budget_;
  Attributes attributes_;
  std::map<std::string, Group> groups_;
  std::map<std::string, std::vector<std::string>> signal_axes_;  ///< NXdata `axes`, by path of the signal
  std::vector<Entry> entries_;
  std::size_t objects_ = 0;
  std::int64_t sentences_ = -1;  ///< -1: no tensor has the dimension
  std::int64_t at_ = 0;
  bool started_ = false;
  bool begins_stream_ = false, ends_stream_ = false;
  TrimmedWidths widths_;  ///< of what is read at once
};

}  // namespace heed::io
