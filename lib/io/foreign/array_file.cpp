#include "io/foreign/array_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "io/byte_stream.h"
#include "io/foreign/marian_binary.h"
#include "io/foreign/npy.h"
#include "io/foreign/picture.h"
#include "io/foreign/safetensors.h"
#include "io/foreign/torch_file.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::int64_t kMostInBlock = std::int64_t{1} << 20;  // numbers, unless a row has more

using Open = std::unique_ptr<ArrayFile> (*)(const std::string& path);

/// How and where to open the content; null if the format is unknown.
struct Found {
  Open open = nullptr;
  std::string path;
};

Found find_in_folder(const std::string& folder) {
  struct stat info;
  const std::string whole = folder + "/model.safetensors", index = whole + ".index.json";
  if (stat(index.c_str(), &info) == 0) return {open_safetensors_shards, index};
  if (stat(whole.c_str(), &info) == 0) return {open_safetensors, whole};
  return {};
}

/// Whether it is the beginning of a text file. A safetensors file begins with the length of its header in 8
/// bytes, the last of which are 0.
bool is_text(std::string_view head) {
  return head.find('\0') == std::string_view::npos && is_utf8(head);
}

/// Zip archives are NumPy's or PyTorch's.
std::unique_ptr<ArrayFile> open_zip(const std::string& path) {
  SeekableFile file(path);
  std::vector<ZipMember> members = read_zip_directory(file);
  const auto open = is_torch_archive(members) ? open_torch : open_npz;
  return open(std::move(file), std::move(members));
}

Open format_of(std::string_view head) {
  if (head.starts_with("\x93NUMPY")) return open_npy;
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return open_zip;
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return open_png;
  if (head.starts_with("\xff\xd8\xff")) return open_jpeg;
  if (is_marian_binary(head)) return open_marian_binary;
  if (head.size() == 9 && head[8] == '{' && !looks_like_hdf5(std::as_bytes(std::span(head))) &&
      !is_text(head))
    return open_safetensors;
  return nullptr;
}

Found find_format(const std::string& path) {
  const bool is_stdin = path == "-";
  struct stat info;
  if ((is_stdin ? fstat(STDIN_FILENO, &info) : stat(path.c_str(), &info)) != 0) return {};
  if (S_ISDIR(info.st_mode)) return is_stdin ? Found() : find_in_folder(path);
  if (!S_ISREG(info.st_mode)) return {};
  if (is_stdin && lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
    return {};  // a part of it was read as something else
  const Descriptor file(is_stdin ? dup(STDIN_FILENO)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char head[9];
  const ssize_t size = pread(file.get(), head, sizeof head, 0);
  return {size > 0 ? format_of({head, static_cast<std::size_t>(size)}) : nullptr, path};
}

}  // namespace

std::unique_ptr<ArrayFile> ArrayFile::open(const std::string& path) {
  const Found found = find_format(path);
  if (!found.open)
    fail(escaped(path),
         ": holds neither safetensors nor arrays of NumPy, PyTorch or Marian, and is not a PNG or JPEG "
         "picture");
  return found.open(found.path);
}

void ArrayFile::read_blocks(const Shape& shape, const ReadBlock& read, const RowSink& take) {
  if (shape.size() < 2 || element_count(shape) <= kMostInBlock) return take(0, read(0, shape));
  const std::int64_t rows = shape[0],
                     most = std::max<std::int64_t>(kMostInBlock / (element_count(shape) / rows), 1);
  Shape block = shape;
  for (std::int64_t first = 0; first < rows; first += most) {
    block[0] = std::min(most, rows - first);
    take(first, read(first, block));
  }
}

bool is_array_file(const std::string& path) {
  return find_format(path).open != nullptr;
}

}  // namespace heed::io
