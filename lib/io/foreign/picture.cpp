#include "io/foreign/picture.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants it
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "base/error.h"
#include "io/foreign/exif.h"
#include "io/foreign/seekable_file.h"

namespace heed::io {
namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 28;
/// Limits on pixels per byte of the file: deflate packs at most 1032 bytes into one, and a JPEG block of 64
/// grey pixels takes at least one bit.
constexpr std::uint64_t kMostStoredPerByte = 1032;
/// Scans of a progressive JPEG; each costs the time of the whole picture, whatever its length.
constexpr int kMostScans = 100;

struct PictureSize {
  std::int64_t channels = 0, rows = 0, columns = 0;
  Shape shape() const { return {channels, rows, columns}; }
  std::uint64_t values() const { return static_cast<std::uint64_t>(channels * rows * columns); }
};

std::vector<std::byte> bytes_of(const SeekableFile& file) {
  if (file.size() > kMostFileBytes)
    fail(file.name(), ": a picture of ", file.size(), " bytes, wanted at most ", kMostFileBytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

/// A picture in memory; the formats say how its header and its pixels are read.
class PictureFile : public ArrayFile {
 public:
  explicit PictureFile(const std::string& path) : file_(path), bytes_(bytes_of(file_)) {}

  Tensor read(std::size_t) const override {
    const std::vector<std::uint8_t> mixed = pixels();  // (row, column, channel)
    std::vector<std::uint8_t> planes(mixed.size());
    const auto channels = static_cast<std::size_t>(size_.channels), plane = planes.size() / channels,
               rows = static_cast<std::size_t>(size_.rows), columns = static_cast<std::size_t>(size_.columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t row = turn_.rows_reversed ? rows - 1 - i : i,
                          column = turn_.columns_reversed ? columns - 1 - j : j,
                          at = turn_.exchanged ? column * rows + row : row * columns + column;
        for (std::size_t c = 0; c < channels; ++c)
          planes[c * plane + at] = mixed[(i * columns + j) * channels + c];
      }
    }
    return Tensor::of<std::uint8_t>(std::move(planes), arrays_.front().shape, {"channel", "row", "column"});
  }

 protected:
  /// (row, column, channel).
  virtual std::vector<std::uint8_t> pixels() const = 0;

  /// Accepts the header; `stored` is the number of bytes of unpacked pixel data.
  void accept(const PictureSize& size, std::uint64_t stored) {
    size_ = size;
    if (size.rows < 1 || size.columns < 1) damaged("it has no pixels");
    if (size.rows > kMostPixels / size.columns)
      fail(file_.name(), ": a picture of ", size.rows, " rows and ", size.columns,
           " columns, wanted at most ", kMostPixels, " pixels");
    if (stored / kMostStoredPerByte > bytes_.size())
      damaged(concat(size.rows, " rows of ", size.columns, " pixels cannot be in ", bytes_.size(), " bytes"));
    const PictureSize shown = turn_.exchanged ? PictureSize{size.channels, size.columns, size.rows} : size;
    arrays_ = {{"pixels", "uint8", shown.shape()}};
  }
  /// The orientation, before the picture's size is accepted. If it cannot be determined the picture is
  /// refused rather than read in the wrong orientation.
  void take_exif(std::span<const std::byte> exif) {
    try {
      turn_ = orientation_of(exif);
    } catch (const Error& error) {
      fail(file_.name(), ": damaged picture: ", error.what(),
           "; without Exif data it would be read as it is stored");
    }
  }
  [[noreturn]] void damaged(const std::string& why) const {
    fail(file_.name(), ": damaged picture: ", escaped(why));
  }
  [[noreturn]] void refuse(const char* what, const char* wanted) const {
    fail(file_.name(), ": the picture ", what, ", wanted ", wanted);
  }

  SeekableFile file_;
  std::vector<std::byte> bytes_;
  PictureSize size_;  ///< as it is stored
  Orientation turn_;
};

// ---- PNG ----

/// libpng's simplified interface, whose errors are return values. Its warnings, and whatever it would repair,
/// count as damage.
class PngImage {
 public:
  explicit PngImage(const std::vector<std::byte>& bytes) {
    std::memset(&image_, 0, sizeof image_);
    image_.version = PNG_IMAGE_VERSION;
    sound_ = is_done(png_image_begin_read_from_memory(&image_, bytes.data(), bytes.size()));
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // as 8 bits are taken that do not say what they are
    const png_uint_32 kept = image_.format & (PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA);
    if (sound_) image_.format = kept;
  }
  ~PngImage() { png_image_free(&image_); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;

  bool is_sound() const { return sound_; }
  const char* message() const { return image_.message; }
  bool has_alpha() const { return image_.format & PNG_FORMAT_FLAG_ALPHA; }
  PictureSize size() const {  // without alpha
    return {image_.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1, image_.height, image_.width};
  }
  /// False when they are damaged. `pixels` (row, column, channel), alpha last.
  bool read(std::vector<std::uint8_t>& pixels) {
    pixels.resize(PNG_IMAGE_SIZE(image_));
    sound_ = is_done(png_image_finish_read(&image_, nullptr, pixels.data(), 0, nullptr));
    return sound_;
  }

 private:
  bool is_done(int result) const { return result != 0 && image_.warning_or_error == 0; }

  png_image image_;
  bool sound_ = false;
};

class PngFile final : public PictureFile {
 public:
  explicit PngFile(const std::string& path) : PictureFile(path) {
    bytes_ = pixel_chunks();
    const PngImage image(bytes_);
    if (!image.is_sound()) damaged(image.message());
    constexpr std::uint64_t kChannels[] = {1, 0, 3, 1, 2, 0, 4};  // by color type
    const auto depth = std::to_integer<std::uint64_t>(bytes_[24]);
    const std::uint64_t row_bits = number_at(16) * depth * kChannels[color_type()];
    accept(image.size(), number_at(20) * ((row_bits + 7) / 8));
  }

 private:
  std::uint64_t number_at(std::size_t at) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | std::to_integer<std::uint64_t>(bytes_[at + i]);
    return number;
  }
  int color_type() const { return std::to_integer<int>(bytes_[25]); }

  /// The file up to its end mark, after taking eXIf, without chunks that do not affect pixel values: gamma,
  /// profiles, text. The CRC-32 of every chunk is verified.
  std::vector<std::byte> pixel_chunks() {
    constexpr std::size_t kSignature = 8, kAround = 12;  // length, type and CRC of a chunk
    const std::size_t size = bytes_.size();
    if (size < kSignature + kAround + 13) damaged("it is cut short");
    std::vector<std::byte> kept(bytes_.begin(), bytes_.begin() + kSignature);
    std::string type;
    for (std::size_t at = kSignature; type != "IEND";) {
      if (size - at < kAround || size - at - kAround < number_at(at)) damaged("it is cut short");
      const auto* chunk = bytes_.data() + at;
      const auto length = static_cast<std::size_t>(number_at(at));
      type.assign(reinterpret_cast<const char*>(chunk + 4), 4);
      if (crc32_z(0, reinterpret_cast<const Bytef*>(chunk + 4), length + 4) != number_at(at + 8 + length))
        damaged(concat(type, ": wrong CRC-32"));
      const bool is_critical = !(type[0] & 0x20), has_palette = color_type() == PNG_COLOR_TYPE_PALETTE;
      if (type == "PLTE" ? has_palette : type == "tRNS" || is_critical)  // a palette besides colors is a hint
        kept.insert(kept.end(), chunk, chunk + kAround + length);
      if (type == "eXIf") take_exif({chunk + 8, length});
      at += kAround + length;
    }
    return kept;
  }

  std::vector<std::uint8_t> pixels() const override {
    PngImage image(bytes_);
    std::vector<std::uint8_t> pixels;
    if (!image.is_sound() || !image.read(pixels)) damaged(image.message());
    if (!image.has_alpha()) return pixels;
    const auto colors = static_cast<std::size_t>(size_.channels);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < pixels.size(); at += colors + 1) {
      if (pixels[at + colors] != 255)
        refuse("has transparent pixels", "none: draw it on the background that it is meant for");
      for (std::size_t c = 0; c < colors; ++c) pixels[kept++] = pixels[at + c];
    }
    pixels.resize(kept);
    return pixels;
  }
};

// ---- JPEG ----

/// libjpeg's error handler jumps: nothing between the jump and its target may have a destructor.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  bool in_scans;  ///< between the first scan and the last row
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_back(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->message);
  std::longjmp(errors->back, 1);
}

/// What libjpeg would repair counts as damage, except what does not affect the pixels.
void judge_warning(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // only a trace
  switch (jpeg->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:  // in scans it is what is left of damaged ones
      if (reinterpret_cast<JpegErrors*>(jpeg->err)->in_scans) jump_back(jpeg);
      return;
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      jump_back(jpeg);
  }
}

void limit_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", kMostScans);
  std::longjmp(errors->back, 1);
}

/// A decompression over bytes that outlive it.
struct Jpeg {
  jpeg_decompress_struct state;
  JpegErrors errors;
  jpeg_progress_mgr progress;
};

constexpr int kExifMarker = JPEG_APP0 + 1;

/// False, with errors.message, when the header is damaged; size.channels is 0 for colours that are not
/// supported. The state must be destroyed in any case.
bool read_jpeg_header(Jpeg& jpeg, const std::byte* bytes, std::size_t count, PictureSize& size) {
  std::memset(&jpeg, 0, sizeof jpeg);
  jpeg.state.err = jpeg_std_error(&jpeg.errors.manager);
  jpeg.errors.manager.error_exit = jump_back;
  jpeg.errors.manager.emit_message = judge_warning;
  jpeg.progress.progress_monitor = limit_scans;
  if (setjmp(jpeg.errors.back)) return false;
  jpeg_create_decompress(&jpeg.state);
  jpeg.state.progress = &jpeg.progress;
  jpeg_mem_src(&jpeg.state, reinterpret_cast<const unsigned char*>(bytes), count);
  jpeg_save_markers(&jpeg.state, kExifMarker, 0xFFFF);
  jpeg_read_header(&jpeg.state, TRUE);
  const J_COLOR_SPACE colors = jpeg.state.jpeg_color_space;
  const bool grey = colors == JCS_GRAYSCALE, color = colors == JCS_YCbCr || colors == JCS_RGB;
  jpeg.state.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  size = {grey ? 1 : color ? 3 : 0, jpeg.state.image_height, jpeg.state.image_width};
  return true;
}

/// All rows after the header was read; `pixels` has room for them. False, with errors.message, when they are
/// damaged.
bool read_jpeg_rows(Jpeg& jpeg, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(jpeg.errors.back)) return false;
  jpeg.errors.in_scans = true;
  jpeg_start_decompress(&jpeg.state);
  while (jpeg.state.output_scanline < jpeg.state.output_height) {
    JSAMPROW row = pixels + jpeg.state.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg.state, &row, 1);
  }
  jpeg.errors.in_scans = false;
  jpeg_finish_decompress(&jpeg.state);
  return true;
}

class JpegDecoder {
 public:
  explicit JpegDecoder(const std::vector<std::byte>& bytes) {
    sound_ = read_jpeg_header(jpeg_, bytes.data(), bytes.size(), size_);
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&jpeg_.state); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  bool is_sound() const { return sound_; }
  const char* message() const { return jpeg_.errors.message; }
  const PictureSize& size() const { return size_; }
  /// The concatenated Exif segments; empty: none.
  std::vector<std::byte> exif() const {
    constexpr std::string_view kName("Exif\0\0", 6);
    std::vector<std::byte> exif;
    for (const jpeg_marker_struct* each = jpeg_.state.marker_list; each; each = each->next) {
      const std::string_view data(reinterpret_cast<const char*>(each->data), each->data_length);
      if (each->marker != kExifMarker || !data.starts_with(kName)) continue;
      const auto* begin = reinterpret_cast<const std::byte*>(data.data());
      exif.insert(exif.end(), begin + kName.size(), begin + data.size());
    }
    return exif;
  }
  bool read(std::vector<std::uint8_t>& pixels) {
    sound_ = read_jpeg_rows(jpeg_, pixels.data(), static_cast<std::size_t>(size_.columns * size_.channels));
    return sound_;
  }

 private:
  Jpeg jpeg_;
  PictureSize size_;
  bool sound_;
};

class JpegFile final : public PictureFile {
 public:
  explicit JpegFile(const std::string& path) : PictureFile(path) {
    const JpegDecoder decoder(bytes_);
    if (!decoder.is_sound()) damaged(decoder.message());
    if (decoder.size().channels == 0) refuse("is CMYK", "red, green and blue, or grey");
    if (const std::vector<std::byte> exif = decoder.exif(); !exif.empty()) take_exif(exif);
    accept(decoder.size(), decoder.size().values());
  }

 private:
  std::vector<std::uint8_t> pixels() const override {
    JpegDecoder decoder(bytes_);
    std::vector<std::uint8_t> pixels(size_.values());
    if (!decoder.is_sound() || !decoder.read(pixels)) damaged(decoder.message());
    return pixels;
  }
};

}  // namespace

std::unique_ptr<ArrayFile> open_png(const std::string& path) {
  return std::make_unique<PngFile>(path);
}

std::unique_ptr<ArrayFile> open_jpeg(const std::string& path) {
  return std::make_unique<JpegFile>(path);
}

}  // namespace heed::io
