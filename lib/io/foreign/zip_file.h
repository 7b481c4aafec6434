// Zip archives as written by NumPy (.npz), by PKWARE's APPNOTE 6.3: one disk, members stored or deflated,
// zip64 sizes. The directory at the end of the file is checked against each member's own header before
// anything is read: names, methods, sizes and checksums agree, members lie within the file and do not
// overlap, and none claims to be larger than deflate allows. Members that are encrypted or packed by another
// method are refused when read. Internal to lib/io.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/foreign/seekable_file.h"

namespace heed::io {

struct ZipMember {
  std::string name;
  std::uint64_t begin = 0;   ///< offset of its bytes in the file
  std::uint64_t packed = 0;  ///< number of bytes in the file
  std::uint64_t size = 0;    ///< unpacked
  std::uint32_t crc = 0;     ///< CRC-32 of the unpacked bytes
  bool deflated = false;
  std::string unreadable;  ///< why it cannot be read; empty: it can
};

/// Throws Error if the archive is invalid.
std::vector<ZipMember> read_zip_directory(const SeekableFile& file);

/// The unpacked bytes of a member, read sequentially.
class ZipReader {
 public:
  /// `file` and `member` must outlive the reader. Throws Error if the member is not readable.
  ZipReader(const SeekableFile& file, const ZipMember& member);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  /// Fills `bytes` with the next bytes; throws Error if fewer are left, and at the end if the checksum
  /// differs.
  void read(std::span<std::byte> bytes);

 private:
  struct Inflater;
  std::size_t inflate_into(std::span<std::byte> bytes);

  const SeekableFile& file_;
  const ZipMember& member_;
  std::string where_;
  std::unique_ptr<Inflater> inflater_;  ///< null: stored
  std::uint64_t read_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace heed::io
