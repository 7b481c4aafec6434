#include "models/pictures.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/paths.h"
#include "io/foreign/array_file.h"
#include "io/frame_stream.h"
#include "io/most_pixels.h"
#include "io/superblock.h"
#include "tensor/kernels.h"
#include "text/line_reader.h"

namespace heed {

namespace {

// ---- resizing ----

/// Weights are fixed-point integers with this many binary places: weighted sums of 8-bit values fit 32 bits.
constexpr int kPlaces = 22;

/// The source pixels of one pixel: those from `first` on, with these weights.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

/// A triangle centred on each new pixel, as wide as two old pixels, or two new ones if those are larger.
std::vector<Taps> taps(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t first = std::max<std::int64_t>(static_cast<std::int64_t>(middle - reach + 0.5), 0),
                       last = std::min(static_cast<std::int64_t>(middle + reach + 0.5), from);
    std::vector<double> triangle;
    double sum = 0;
    for (std::int64_t x = first; x < last; ++x) {
      const double distance = std::abs((static_cast<double>(x) - middle + 0.5) * (1 / reach));
      triangle.push_back(distance < 1 ? 1 - distance : 0);
      sum += triangle.back();
    }
    Taps one{first, {}};
    for (const double height : triangle)
      one.weights.push_back(static_cast<std::int32_t>(0.5 + height / sum * (1 << kPlaces)));
    all.push_back(std::move(one));
  }
  return all;
}

/// The sum of pixels, `stride` apart, by these weights.
std::uint8_t sum_of(const std::vector<std::int32_t>& weights, const std::uint8_t* pixels,
                    std::int64_t stride) {
  std::int32_t sum = 1 << (kPlaces - 1);
  for (const std::int32_t weight : weights) {
    sum += weight * *pixels;
    pixels += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kPlaces, 0, 255));
}

// ---- what a model reads ----

/// `channels` channels of a picture that has 1 or 3.
Tensor with_channels(const Tensor& picture, std::int64_t channels) {
  const Shape& shape = picture.shape();
  if (shape[0] == channels) return picture;
  const auto from = picture.values<std::uint8_t>();
  const std::size_t plane = from.size() / static_cast<std::size_t>(shape[0]);
  std::vector<std::uint8_t> to;
  if (shape[0] == 1 && channels == 3) {
    for (int c = 0; c < 3; ++c) to.insert(to.end(), from.begin(), from.end());
  } else if (shape[0] == 3 && channels == 1) {
    for (std::size_t i = 0; i < plane; ++i)
      to.push_back(static_cast<std::uint8_t>(
          (19595 * from[i] + 38470 * from[plane + i] + 7471 * from[2 * plane + i] + 0x8000) >> 16));
  } else {
    fail("a picture of ", shape[0], " channels, the model wants ", channels);
  }
  return Tensor::of<std::uint8_t>(std::move(to), {channels, shape[1], shape[2]});
}

/// A file whose lines name others. Other formats are recognised by their content, and a pipe holds tensors.
bool is_list(const std::string& path) {
  std::error_code none;
  return path != "-" && std::filesystem::is_regular_file(path, none) && !io::is_array_file(path) &&
         !io::is_hdf5_file(path);
}

std::vector<std::string> lines_of(const std::string& list) {
  try {
    return text::read_lines(list);
  } catch (const Error& error) {
    fail(error.what(), ": it is neither PNG, JPEG nor arrays, and no list of the paths of such files");
  }
}

std::vector<std::string> listed(const std::string& list) {
  const std::filesystem::path folder = std::filesystem::path(list).parent_path();
  std::vector<std::string> paths;
  for (const std::string& line : lines_of(list)) {
    if (line.empty())
      fail(escaped(list), ":", paths.size() + 1, ": an empty line, wanted the path of a picture");
    paths.push_back((folder / line).string());
    if (is_list(paths.back()))
      fail(escaped(list), ":", paths.size(), ": ", escaped(line),
           " is neither a picture nor a file of arrays");
  }
  if (paths.empty()) fail(escaped(list), ": empty, wanted the path of a picture on each line");
  return paths;
}

void expect_size(const Shape& shape) {
  if (shape[3] > 0 && shape[2] > io::kMostPixels / shape[3])
    fail("pictures of ", shape[2], " rows and ", shape[3], " columns, wanted at most ", io::kMostPixels,
         " pixels");
}

/// The array of images in a file.
Tensor array_of(const std::string& path, const ImagePatches& images) {
  const char* name = images.reads_features() ? "features" : "pixels";
  TensorMap map = io::read_map(path);
  if (map.contains(name)) return std::move(map.at(name));
  if (map.tensors().size() != 1)
    fail(escaped(path), ": ", map.tensors().size(), " tensors and none named ", name, ", wanted ",
         images.reads_features() ? "features of images (image, place, value)"
                                 : "images (image, channel, row, column)");
  return std::move(map.tensors().front().second);
}

/// (channel, row, column) becomes one image.
Tensor with_images(Tensor array) {
  if (array.dtype() != DType::u8 || array.shape().size() != 3) return array;
  Shape shape = array.shape();
  shape.insert(shape.begin(), 1);
  const auto values = array.values<std::uint8_t>();
  return Tensor::of<std::uint8_t>({values.begin(), values.end()}, std::move(shape));
}

}  // namespace

Tensor resized(const Tensor& picture, std::int64_t rows, std::int64_t columns) {
  const std::int64_t channels = picture.shape()[0], height = picture.shape()[1], width = picture.shape()[2];
  const auto from = picture.values<std::uint8_t>();
  const std::vector<Taps> across = taps(width, columns), down = taps(height, rows);
  std::vector<std::uint8_t> to;
  to.reserve(static_cast<std::size_t>(channels * rows * columns));
  for (std::int64_t c = 0; c < channels; ++c) {
    // Only those horizontally resized lines are kept that the current row needs: all lines of a narrow
    // picture may be far larger than the picture.
    std::vector<std::uint8_t> lines;  // [any, columns], from line `begin` on
    std::int64_t begin = 0, end = 0;
    for (const Taps& tap : down) {
      lines.erase(lines.begin(), lines.begin() + (std::min(tap.first, end) - begin) * columns);
      begin = tap.first;
      for (end = std::max(end, begin); end < begin + std::ssize(tap.weights); ++end)
        for (const Taps& one : across)
          lines.push_back(sum_of(one.weights, from.data() + (c * height + end) * width + one.first, 1));
      for (std::int64_t x = 0; x < columns; ++x) to.push_back(sum_of(tap.weights, lines.data() + x, columns));
    }
  }
  return Tensor::of<std::uint8_t>(std::move(to), {channels, rows, columns}, picture.dims());
}

std::vector<float> Pictures::values(const ImagePatches& images, std::span<const std::int64_t> which) const {
  const auto size = static_cast<std::size_t>(images.values());
  std::vector<float> values;
  values.reserve(which.size() * size);
  for (const std::int64_t image : which) {
    const std::size_t from = static_cast<std::size_t>(image) * size;
    if (!scaled_.empty()) {
      values.insert(values.end(), &scaled_[from], &scaled_[from] + size);
      continue;
    }
    const std::size_t plane = size / images.mean.size();
    for (std::size_t i = 0; i < size; ++i)
      values.push_back(static_cast<float>((bytes_[from + i] / 255.0 - images.mean[i / plane]) /
                                          images.deviation[i / plane]));
  }
  return values;
}

std::string Pictures::digest() const {
  Sha256 sha;
  sha.add({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
  sha.add({reinterpret_cast<const char*>(scaled_.data()), scaled_.size() * sizeof(float)});
  return sha.hex();
}

PictureReader::PictureReader(const std::vector<std::string>& paths, const ImagePatches& images)
    : images_(images) {
  for (const std::string& path : paths) {
    if (!is_list(path)) {
      files_.push_back({path, ""});
      continue;
    }
    std::size_t line = 0;
    for (std::string& file : listed(path))
      files_.push_back({std::move(file), concat(escaped(path), ":", ++line, ": ")});
  }
}

void PictureReader::open_next() {
  used_ = 0;
  array_ = with_images(array_of(files_[next_++].path, images_));
  const Shape& shape = array_->shape();
  const bool bytes = array_->dtype() == DType::u8;
  if (!(bytes && !images_.reads_features()) && array_->dtype() != DType::f32)
    fail("holds ", name_of(array_->dtype()), " values, wanted float32",
         images_.reads_features() ? "" : ", already scaled, or uint8");
  if (images_.reads_features())
    expect_shape("features", shape, {-1, images_.feature_places, images_.feature_width});
  else if (bytes)
    expect_shape("pixels", shape, {-1, -1, -1, -1}), expect_size(shape);
  else
    try {
      expect_shape("pixels", shape, {-1, images_.channels, images_.image_size, images_.image_size});
    } catch (const Error& error) {
      fail(error.what(), ": float32 is taken as already scaled; pictures of other sizes are uint8");
    }
  if (element_count(shape) == 0) fail("no images in it");
  if (reads_bytes_ && *reads_bytes_ != bytes)
    fail(bytes ? "a picture after float32 values, already scaled"
               : "float32 values, already scaled, after pictures",
         ": read them apart");
  reads_bytes_ = bytes;
  if (!bytes && !all_finite<float>(array_->values<float>())) fail("holds NaN or infinity");
}

void PictureReader::append(Pictures& pictures, std::int64_t most) {
  const Shape& shape = array_->shape();
  const std::int64_t count = std::min(most - pictures.count_, shape[0] - used_);
  const auto size = static_cast<std::size_t>(array_->size() / shape[0]),
             from = size * static_cast<std::size_t>(used_);
  if (array_->dtype() == DType::f32) {
    const auto values = array_->values<float>().subspan(from, size * static_cast<std::size_t>(count));
    pictures.scaled_.insert(pictures.scaled_.end(), values.begin(), values.end());
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto one =
          array_->values<std::uint8_t>().subspan(from + static_cast<std::size_t>(i) * size, size);
      const Tensor picture =
          with_channels(Tensor::of<std::uint8_t>({one.begin(), one.end()}, {shape[1], shape[2], shape[3]}),
                        images_.channels);
      const Tensor fitting = resized(picture, images_.image_size, images_.image_size);
      const auto bytes = fitting.values<std::uint8_t>();
      pictures.bytes_.insert(pictures.bytes_.end(), bytes.begin(), bytes.end());
    }
  }
  pictures.count_ += count;
  used_ += count;
  if (used_ == shape[0]) array_.reset();
}

Pictures PictureReader::next(std::int64_t most) {
  Pictures pictures;
  while (pictures.count_ < most && (array_ || next_ < files_.size())) {
    const File& file = files_[array_ ? next_ - 1 : next_];
    try {
      if (!array_) open_next();
      append(pictures, most);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      fail(file.listed_at, placed(name_of_input(file.path), error.what()));
    }
  }
  return pictures;
}

Pictures read_pictures(const std::string& path, const ImagePatches& images) {
  return PictureReader({path}, images).next(std::numeric_limits<std::int64_t>::max());
}

}  // namespace heed
