#include "io/foreign/npy_writer.h"

#include <zlib.h>

#include <cstdint>
#include <string_view>

#include "io/layout.h"
#include "io/superblock.h"
#include "io/text_writer.h"

namespace heed::io {
namespace {

/// Numbers of the headers, little endian.
struct Fields {
  std::string bytes;

  Fields& u16(std::uint64_t value) { return add(value, 2); }
  Fields& u32(std::uint64_t value) { return add(value, 4); }

 private:
  Fields& add(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
};

constexpr std::uint64_t kMostBytes = UINT32_MAX;
constexpr std::uint64_t kVersion = 20, kFirstDate = 0x21;  // 2.0; 1 January 1980, the first that there is

std::string header_of(const std::string& name, const Tensor& tensor) {
  return with_type(tensor.dtype(), [&]<class T>(T) -> std::string {
    if constexpr (std::is_same_v<T, std::string>)
      fail("/", name, ": holds text, which an .npz is not written with");
    else
      return npy_header(npy_type<T>(), tensor.shape());
  });
}

std::uint32_t crc_of(std::string_view first, std::string_view second) {
  const auto add = [](uLong crc, std::string_view bytes) {
    return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  return static_cast<std::uint32_t>(add(add(0, first), second));
}

}  // namespace

std::string npy_header(const std::string& type, const Shape& shape) {
  std::string sizes;
  for (std::int64_t size : shape) sizes += concat(size, ", ");
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  std::string text = concat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", sizes, "), }");
  const std::size_t start = 10;  // magic, version, length of the header
  text.resize((start + text.size() + 1 + 63) / 64 * 64 - start - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

// APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16.
void write_npz(const std::string& path, const TensorMap& map) {
  TextWriter file(path);
  std::uint64_t at = 0;
  std::string directory;
  const auto write = [&](std::string_view bytes) {
    at += bytes.size();
    if (at > kMostBytes) fail(escaped(path), ": more than 4 GB do not fit into an .npz without zip64");
    file.write(bytes);
  };
  for (const auto& [tensor_name, tensor] : map.tensors()) {
    const std::string name = tensor_name + ".npy", header = header_of(tensor_name, tensor);
    const std::string_view values = text_of(numbers_of(tensor));
    const std::uint64_t begin = at, size = header.size() + values.size();
    Fields shared;  // of the local header and of the directory
    shared.u16(kVersion).u16(0).u16(0).u16(0).u16(kFirstDate).u32(crc_of(header, values)).u32(size).u32(size);
    shared.u16(name.size()).u16(0);
    write(Fields().u32(0x04034b50).bytes + shared.bytes + name + header);
    write(values);
    directory += Fields().u32(0x02014b50).u16(kVersion).bytes + shared.bytes;
    directory += Fields().u16(0).u16(0).u16(0).u32(0).u32(begin).bytes + name;
  }
  const std::uint64_t count = map.tensors().size(), begin = at;
  if (count > UINT16_MAX) fail(escaped(path), ": ", count, " tensors do not fit into an .npz without zip64");
  write(directory);
  write(Fields()
            .u32(0x06054b50)
            .u16(0)
            .u16(0)
            .u16(count)
            .u16(count)
            .u32(directory.size())
            .u32(begin)
            .u16(0)
            .bytes);
  file.finish();
}

}  // namespace heed::io
