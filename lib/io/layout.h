// Layout rules common to reader and writer. Internal to lib/io.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/shape.h"
#include "tensor/tensor_map.h"

namespace heed::io {

inline constexpr std::string_view kSentenceDim = "sentence";
inline constexpr std::size_t kMaxRank = 8;  ///< more dimensions are not read

/// The first axis of that name, or -1.
inline std::ptrdiff_t axis_of(const std::vector<std::string>& dims, std::string_view dim) {
  const auto found = std::ranges::find(dims, dim);
  return found == dims.end() ? -1 : found - dims.begin();
}
inline std::ptrdiff_t sentence_axis_of(const std::vector<std::string>& dims) {
  return axis_of(dims, kSentenceDim);
}

/// The bytes of numbers; none of strings.
std::span<const std::byte> numbers_of(const Tensor& tensor);

/// Padded dimensions, whose size may vary between batches.
inline bool is_padded_dim(std::string_view dim) {
  return dim == "position" || dim == "query" || dim == "key" || dim == "rank";
}

/// The amount of string data that HDF5 converts at once. Its default fills a mebibyte with zeros for every
/// dataset.
inline constexpr std::size_t kConversionBytes = 1 << 14;

/// The tensor of the same group that holds the used lengths of a padded dimension.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLengthOfDim{
    {{"position", "length"}, {"query", "query_length"}, {"key", "key_length"}}};

/// A frame's position in its stream: the root attributes stream_begin and stream_end. A file is a stream of
/// one frame.
struct InStream {
  bool is_first = false, is_last = false;
};

/// The attribute with the checksum of a string dataset, because the heap in which HDF5 stores strings has
/// none: the sum of a hash of each string and its place (FNV-1a, then MurmurHash3's finalizer). Empty strings
/// contribute nothing, so a dataset that grows keeps its sum.
inline constexpr std::string_view kChecksum = "checksum";
/// The checksum of `text`, row-major of `shape`, which lies at `start` in its dataset.
std::uint64_t checksum_of(std::span<const std::string> text, const Shape& shape,
                          const std::vector<std::int64_t>& start);

/// SHA-256 of all values, to verify that a tensor has not changed.
std::string digest_of(const Tensor& tensor);

/// Whether `path` belongs to a model or its training, which have no sentences.
inline bool is_model_path(const std::string& path) {
  return path.starts_with("model/") || path.starts_with("checkpoint/");
}

/// The group of all parameters, or of a checkpoint's values for each of them ("checkpoint/adam/first"), that
/// contains `path`; "" for other tensors. Layers differ in size, so such a group has the dimension scales of
/// all, named by size.
inline std::string parameters_group(const std::string& path) {
  const std::size_t levels = path.starts_with("model/parameters/") ? 2
                             : path.starts_with("checkpoint/")     ? 3
                                                                   : 0;
  std::size_t end = 0;
  for (std::size_t level = 0; level < levels && end != std::string::npos; ++level)
    end = path.find('/', end + 1);
  return levels == 0 || end == std::string::npos ? "" : path.substr(0, end);
}

}  // namespace heed::io
