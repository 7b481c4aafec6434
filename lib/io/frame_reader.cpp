#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/error.h"
#include "io/byte_stream.h"
#include "io/frame_stream.h"
#include "io/h5_reader.h"
#include "io/h5_source.h"
#include "io/superblock.h"

namespace heed::io {

struct FrameReader::Impl {
  std::string name;
  ReadOptions options;
  Descriptor input;
  std::vector<std::byte> image;  ///< the present frame of a stream
  std::optional<MapReader> map;  ///< the file, or the present image of the stream
  bool is_file = false;
  bool at_end = false;
  std::int64_t images = 0;

  Impl(const std::string& path, ReadOptions given) : options(std::move(given)) {
    reserve_standard_streams();
    name = path == "-" ? "<stdin>" : escaped(path);
    input = path == "-" ? Descriptor(STDIN_FILENO, false) : open_for_reading(path);
    if (isatty(input.get())) {
      fail<UsageError>(name, " is a terminal: give an input file or pipe tensors in");
    }
    is_file = open_as_file();
  }

  /// A regular file that is one HDF5 image is walked in place. Anything else, also a file into which a stream
  /// of several frames was saved, is read as a stream.
  bool open_as_file() {
    struct stat info;
    if (fstat(input.get(), &info) != 0) fail_errno(name, "cannot read");
    if (S_ISDIR(info.st_mode)) fail(name, ": cannot read: is a directory");
    if (!S_ISREG(info.st_mode) || lseek(input.get(), 0, SEEK_CUR) != 0) return false;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size == 0) fail(name, ": empty: did the command that should write it fail?");
    std::vector<std::byte> head;
    read_bytes(input.get(), kSuperblockBytes, head, name);
    const std::uint64_t length = image_length(head, name);
    if (size < length) fail(name, ": cut short: ", size, " of ", length, " bytes");
    if (size > length) {
      if (lseek(input.get(), 0, SEEK_SET) != 0) fail_errno(name, "cannot read");
      return false;
    }
    map.emplace(open_hdf5(input.get(), size, name), size, options, name);
    return true;
  }

  /// Reads the next frame into `image`; false at the end of input.
  bool read_image() {
    image.clear();
    read_bytes(input.get(), kSuperblockBytes, image, name);
    if (image.empty()) return false;
    if (images > 0 && !looks_like_hdf5(image)) fail(name, ": frame ", images + 1, " is not HDF5 data");
    const std::uint64_t length = image_length(image, name);
    // A claim is no reason to reserve much memory; what really arrives is.
    image.reserve(static_cast<std::size_t>(std::min(length, std::uint64_t{1} << 24)));
    const std::size_t rest = static_cast<std::size_t>(length) - image.size();
    if (read_bytes(input.get(), rest, image, name) < rest) {
      fail(name, ": input ended early, after ", image.size(), " of ", length, " bytes of frame ", images + 1,
           ": did the previous command fail?");
    }
    return true;
  }

  void expect_end_of_input() {
    std::vector<std::byte> extra;
    if (read_bytes(input.get(), 1, extra, name) > 0) {
      fail(name, ": extra bytes after the end: were the outputs of two commands joined?");
    }
  }

  bool next_image() {
    if (at_end) return false;
    map.reset();
    if (!read_image()) {
      fail(name, images ? ": input ended early: did the previous command fail?"
                        : ": empty: did the previous command fail?");
    }
    map.emplace(open_hdf5(image, name), image.size(), options, name);
    ++images;
    // A file of another program is a complete stream.
    at_end = map->is_last_of_stream() || !map->is_heed();
    if (at_end) expect_end_of_input();
    return true;
  }
};

FrameReader::FrameReader(const std::string& path, ReadOptions options)
    : impl_(std::make_unique<Impl>(path, std::move(options))) {}
FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

const std::string& FrameReader::name() const {
  return impl_->name;
}

bool FrameReader::next(TensorMap& frame) {
  while (true) {
    if (impl_->map && impl_->map->next_batch(frame)) return true;
    if (impl_->is_file || !impl_->next_image()) return false;
  }
}

TensorMap FrameReader::whole() {
  if (!impl_->map && !impl_->next_image()) fail(impl_->name, ": no further frame to read");
  TensorMap map = impl_->map->whole();
  while (!impl_->is_file && impl_->next_image()) {
    TensorMap more;
    if (impl_->map->next_batch(more)) {
      fail(impl_->name, ": a stream of several frames where one map was expected: save it with -o first");
    }
  }
  return map;
}

TensorMap read_map(const std::string& path, ReadOptions options) {
  return FrameReader(path, std::move(options)).whole();
}

}  // namespace heed::io
