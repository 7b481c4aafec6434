// Images from files, for an encoder that reads them (models/image_patches.h). A file is
//   a picture (PNG, JPEG)          any size
//   an array (HDF5, npy, ...)      uint8 (image, channel, row, column), or without the first dimension: pictures;
//                                  float32 (image, channel, row, column): of the model's size, already scaled;
//                                  float32 (image, place, value): features, of a model that reads those
//   a list, text                   one path of the above per line, relative to the list's folder
// From a file of several arrays, the one named pixels or features is taken. Grey pictures become three equal
// channels, and color pictures grey by luminance (ITU-R BT.601), as the model requires; they are resized to
// the model's size, and
//   x = (v / 255 - mean) / deviation,  channel by channel (ImagePatches::mean, deviation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/image_patches.h"
#include "tensor/tensor_map.h"

namespace heed {

/// Resizes a picture uint8 (channel, row, column) to `rows` rows and `columns` columns: bilinear, averaging
/// over the source pixels where it shrinks, rounded after the columns and after the rows. Bit for bit the
/// same as Pillow's Image.resize(..., BILINEAR), except that versions after 11.3 begin with the rows if those
/// shrink and the columns grow.
Tensor resized(const Tensor& picture, std::int64_t rows, std::int64_t columns);

/// Images in the model's size. Pictures are kept as bytes until they are used.
class Pictures {
 public:
  std::int64_t count() const { return count_; }
  /// These images, one after the other, as ImagePatches::embed takes them.
  std::vector<float> values(const ImagePatches& images, std::span<const std::int64_t> which) const;
  /// SHA-256 of all images.
  std::string digest() const;

 private:
  friend class PictureReader;
  std::int64_t count_ = 0;
  std::vector<std::uint8_t> bytes_;  ///< for pictures; otherwise
  std::vector<float> scaled_;
};

/// Reads files one after the other.
class PictureReader {
 public:
  /// Throws Error if a list cannot be read or is empty.
  PictureReader(const std::vector<std::string>& paths, const ImagePatches& images);

  /// The next images, at most `most`; none at the end. Throws Error, naming the file and the line of a list,
  /// if it is not what the model reads, has pictures of more than io::kMostPixels, holds NaN or infinity, or
  /// mixes scaled and unscaled images.
  Pictures next(std::int64_t most);

 private:
  void open_next();
  void append(Pictures& pictures, std::int64_t most);

  struct File {
    std::string path, listed_at;  ///< "LIST:LINE: ", or empty
  };
  std::vector<File> files_;
  ImagePatches images_;
  std::size_t next_ = 0;
  std::optional<Tensor> array_;      ///< of the current file
  std::optional<bool> reads_bytes_;  ///< whether files have pictures or scaled values; known after the first
  std::int64_t used_ = 0;            ///< number of its images already returned
};

/// All images of a file.
Pictures read_pictures(const std::string& path, const ImagePatches& images);

}  // namespace heed
