#include "io/input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "base/paths.h"
#include "io/h5_file.h"
#include "io/layout.h"
#include "io/number_rows.h"
#include "io/superblock.h"

namespace heed::io {

Input::Input(const std::string& path, Descriptor open, int memory, ReadOptions options, Before before)
    : options_(std::move(options)), before_(std::move(before)), image_(memory) {
  reserve_standard_streams();
  name_ = name_of_input(path);
  if (is_array_file(path)) {
    open = Descriptor();  // it opens its files itself
    if (path == "-") input_ = Descriptor(STDIN_FILENO, false);
    before_(input_.get(), kNotHdf5);
    arrays_ = ArrayFile::open(path);
    return;
  }
  input_ = open.get() >= 0 ? std::move(open)
           : path == "-"   ? Descriptor(STDIN_FILENO, false)
                           : open_for_reading(path);
  if (isatty(input_.get())) {
    fail<UsageError>(name_, " is a terminal: give an input file or pipe tensors in");
  }
  is_file_ = open_as_file();
  open_file();
}

/// A regular file with a single HDF5 image is read in place. Anything else, including a file with a saved
/// stream of several frames, is read as a stream.
bool Input::open_as_file() {
  struct stat info;
  if (fstat(input_.get(), &info) != 0) fail_errno(name_, "cannot read");
  if (S_ISDIR(info.st_mode))
    fail(name_, ": cannot read: is a directory without model.safetensors or model.safetensors.index.json");
  if (!S_ISREG(info.st_mode) || lseek(input_.get(), 0, SEEK_CUR) != 0) return false;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == 0) fail(name_, ": empty: did the command that should write it fail?");
  std::array<std::byte, kSuperblockBytes> most;
  const auto head = std::span(most).first(std::min<std::uint64_t>(size, most.size()));
  read_at(input_.get(), 0, head, name_);
  const std::uint64_t length = begins_number_rows(head) ? 0 : image_length(head, name_);
  if (size < length) fail(name_, ": cut short: ", size, " of ", length, " bytes");
  if (size > length) return false;
  file_size_ = size;
  return true;
}

/// Reads the next frame into `image_`; false at the end of input.
bool Input::read_image() {
  image_.clear();
  if (image_.append_from(input_.get(), kSuperblockBytes, name_) == 0) return false;
  if (at_end_ && !looks_like_hdf5(image_))
    fail(name_, ": extra bytes after the end, which are not HDF5 data");
  if (images_ > 0 && !looks_like_hdf5(image_)) fail(name_, ": frame ", images_ + 1, " is not HDF5 data");
  if (images_ == 0 && begins_number_rows(image_)) {
    if (image_.append_from(input_.get(), kMostNumberBytes, name_) == kMostNumberBytes)
      fail(name_, ": more than ", kMostNumberBytes,
           " bytes of text: write arrays of this size with HDF5 or NumPy");
    rows_ = parse_number_rows(image_, name_);
    return true;
  }
  const std::uint64_t length = image_length(image_, name_);
  const std::size_t rest = static_cast<std::size_t>(length) - image_.size();
  if (image_.append_from(input_.get(), rest, name_) < rest) {
    fail(name_, ": input ended early, after ", image_.size(), " of ", length, " bytes of frame ", images_ + 1,
         ": did the previous command fail?");
  }
  return true;
}

/// After the end of a stream another may follow: `cat a.h5 b.h5`.
bool Input::next_image() {
  map_.reset();
  before_(input_.get(), kNotHdf5);
  if (!read_image()) {
    if (at_end_) return false;
    fail(name_, images_ ? ": input ended early: did the previous command fail?"
                        : ": empty: did the previous command fail?");
  }
  if (rows_) {
    at_end_ = true;
    return true;
  }
  before_(input_.get(), image_.size());
  map_.emplace(reader_of(open_hdf5(image_, name_), image_.size()));
  if (images_ > 0 && !at_end_ && (map_->is_first_of_stream() || !map_->is_heed()))
    fail(name_, ": a stream ended early, after frame ", images_,
         ", and another follows: did the command that wrote it fail?");
  if (std::exchange(at_end_, false)) awaits_first_ = true;
  ++images_;
  // A file of another program is a complete stream.
  at_end_ = map_->is_last_of_stream() || !map_->is_heed();
  return true;
}

namespace {

/// Whether a path names lengths, which are read where there are any.
bool names_lengths(const std::string& path) {
  return std::ranges::any_of(kLengthOfDim,
                             [&](const auto& length) { return leaf_of(path) == length.second; });
}

}  // namespace

/// The wanted arrays, once.
bool Input::next_arrays(const TensorSink& sink) {
  if (std::exchange(at_end_, true)) return false;
  const std::vector<ArrayInfo>& arrays = arrays_->arrays();
  for (const std::string& path : options_.only)
    if (!names_lengths(path) &&
        std::ranges::none_of(arrays, [&](const ArrayInfo& a) { return is_at_or_below(a.name, path); }))
      fail(name_, ": there is no array ", escaped(path), " in it: viz-dump --list names them");
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (options_.wants(arrays[i].name)) sink(arrays[i].name, arrays_->read(i));
  return true;
}

/// What came as text, once.
bool Input::next_rows(const TensorSink& sink) {
  if (!rows_) return false;
  for (const std::string& path : options_.only)
    if (!names_lengths(path) && !is_at_or_below(kOnlyArray, path))
      fail(name_, ": is rows of numbers, in which there is no ", escaped(path), ", only ", kOnlyArray);
  sink(kOnlyArray, *std::exchange(rows_, std::nullopt));
  return true;
}

MapReader Input::reader_of(Handle file, std::uint64_t size) const {
  ReadOptions options = options_;
  if (!narrowed_.empty()) options.only = narrowed_;
  MapReader map(std::move(file), size, options, name_);
  if (map.is_empty() && !narrowed_.empty()) map.narrow(options_.only);
  return map;
}

void Input::narrow(std::vector<std::string> only) {
  if (only == narrowed_) return;
  narrowed_ = std::move(only);
  if (is_file_) open_file();
}

bool Input::next(std::int64_t batch, TensorMap& about, const TensorSink& sink, const ChunkedSink& stored) {
  begins_ = false;
  if (arrays_) return next_arrays(sink);
  while (true) {
    if (is_file_) before_(input_.get(), file_size_);
    if (map_ && map_->next_batches(batch, about, sink, can_be_fetched() ? stored : ChunkedSink())) {
      begins_ = std::exchange(awaits_first_, false);
      return true;
    }
    if (is_file_ || !next_image()) return false;
    if (next_rows(sink)) return true;
  }
}

void Input::part(const std::vector<std::string>& only, TensorMap& about, const TensorSink& sink,
                 const ChunkedSink& stored) {
  if (arrays_ || rows_) return;
  if (!map_ && !next_image()) fail(name_, ": no further frame to read");
  if (rows_) return;
  if (!only.empty()) map_->narrow(only);
  map_->whole(about, sink, can_be_fetched() ? stored : ChunkedSink());
}

void Input::whole(const std::vector<std::string>& only, TensorMap& about, const TensorSink& sink,
                  const ChunkedSink& stored) {
  if (arrays_) {
    next_arrays(sink);
    return;
  }
  part(only, about, sink,
       is_file_ ? stored : ChunkedSink());  // a further image would overwrite what is fetched
  if (next_rows(sink)) return;
  TensorMap more;
  while (!is_file_ && next_image()) {
    if (map_->next_batches(1, more, [](const std::string&, const Tensor&) {}, {}))
      fail(name_, ": a stream of several frames where one map was expected: save it with -o first");
  }
}

void Input::layout(TensorMap& about, const TensorSink& sink) {
  if (arrays_ || !is_file_ || !map_) fail(name_, ": wanted an HDF5 file, which can be mapped, not a stream");
  map_->layout(about, sink);
}

void Input::open_file() {
  if (!is_file_) return;
  before_(input_.get(), file_size_);
  map_.emplace(reader_of(open_hdf5(input_.get(), file_size_, name_), file_size_));
}

}  // namespace heed::io
