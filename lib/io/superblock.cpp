#include "io/superblock.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/foreign/array_file.h"

namespace heed::io {
namespace {

constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);

/// Where a superblock of some version keeps its fields.
struct Layout {
  std::size_t offset_size, base_address, end_of_file;
};

Layout layout_of(int version, const std::string& name) {
  switch (version) {
    case 0:
      return {13, 24, 40};
    case 1:
      return {13, 28, 44};
    case 2:
    case 3:
      return {9, 12, 28};
    default:
      fail(name, ": HDF5 superblock version ", version, " is unknown: damaged, or made by a newer HDF5");
  }
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) {
    return c >= 0x80 || (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// `wanted`: what the file should be; empty: tensors.
std::string guess(std::string_view bytes, const std::string& wanted) {
  static constexpr std::pair<std::string_view, const char*> known[] = {
      {std::string_view("GGUF\3\0\0", 7),
       "a model of llama.cpp (GGUF): use the folder of safetensors that it was made from"},
      // Its first piece is "<unk>", "<pad>" or the like.
      {std::string_view("\n\x0e\n\5<", 5),
       "a SentencePiece model: tokenize --import-vocab makes a vocabulary of it"},
      {"step\t", "the metrics of a training: viz-dump --curves draws them"},
      {"\x1f\x8b", "gzip data: decompress it first"},
      {"\x89PNG", "a PNG picture"},
      {"%PDF", "a PDF document"},
      {"PK\x03\x04", "a zip archive (.npz), which is read from a file, not from a pipe"},
      {"\3757zXZ", "xz data: decompress it first"},
      {"BZh", "bzip2 data: decompress it first"},
      {"\x28\xb5\x2f\xfd", "zstd data: decompress it first"},
      {"CDF", "a classic netCDF file: nccopy -4 converts it"},
      {"\x93NUMPY", "a NumPy array, which is read from a file, not from a pipe"},
      {"\177ELF", "a program"}};
  for (const auto& [start, what] : known) {
    if (bytes.starts_with(start)) return what;
  }
  if (bytes.size() > 8 && bytes[8] == '{') return "safetensors, which is read from a file, not from a pipe";
  if (!wanted.empty()) return concat(is_text(bytes) ? "text" : "unknown data", "; wanted ", wanted);
  return is_text(bytes)
             ? "text, but not rows of numbers; wanted tensors: was a tool left out of the pipeline?"
             : "unknown data";
}

/// Throws Error with a guess at what `head`, the first bytes of something other than HDF5, belongs to.
[[noreturn]] void fail_not_hdf5(std::span<const std::byte> head, const std::string& name,
                                const std::string& wanted = {}) {
  const std::string_view bytes = text_of(head.first(std::min<std::size_t>(head.size(), 24)));
  fail(name, ": not an HDF5 file; starts with \"", escaped(bytes, 60), "\", looks like ",
       guess(bytes, wanted));
}

}  // namespace

bool looks_like_hdf5(std::span<const std::byte> head) {
  const std::string_view bytes = text_of(head);
  return !bytes.empty() && signature.substr(0, bytes.size()) == bytes.substr(0, signature.size());
}

bool is_hdf5_file(const std::string& path) {
  if (path == "-" || is_special_file(path)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<std::byte, signature.size()> head{};
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  return file && looks_like_hdf5(head);
}

void expect_hdf5_file(const std::string& path, const std::string& wanted) {
  if (path == "-" || is_special_file(path) || is_array_file(path)) return;
  std::ifstream file(path, std::ios::binary);
  std::array<std::byte, kSuperblockBytes> bytes{};
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  const auto head = std::span<const std::byte>(bytes).first(static_cast<std::size_t>(file.gcount()));
  if (!head.empty() && !looks_like_hdf5(head)) fail_not_hdf5(head, escaped(path), wanted);
}

std::uint64_t image_length(std::span<const std::byte> head, const std::string& name) {
  if (!looks_like_hdf5(head)) fail_not_hdf5(head, name);
  if (head.size() < kSuperblockBytes) fail(name, ": HDF5 data cut short after ", head.size(), " bytes");
  const Layout at = layout_of(static_cast<int>(head[8]), name);
  if (static_cast<int>(head[at.offset_size]) != 8)
    fail(name, ": HDF5 file with offsets that are not 8 bytes wide");
  if (little_endian(head.subspan(at.base_address, 8)) != 0)
    fail(name, ": HDF5 data with a base address other than 0");
  const std::uint64_t length = little_endian(head.subspan(at.end_of_file, 8));
  if (length < kSuperblockBytes || length > INT64_MAX)
    fail(name, ": HDF5 header claims a length of ", length, " bytes");
  return length;
}

}  // namespace heed::io
