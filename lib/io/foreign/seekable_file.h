// A file with random access. Internal to lib/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "io/byte_stream.h"

namespace heed::io {

/// Fills the span with the next bytes of a sequential source.
using NextBytes = std::function<void(std::span<std::byte>)>;

class SeekableFile {
 public:
  /// `path` - is stdin. Throws Error if it cannot be read or is not a regular file.
  explicit SeekableFile(const std::string& path);

  /// Fills `bytes` from offset `at`. Throws Error if the file ends before.
  void read_at(std::uint64_t at, std::span<std::byte> bytes) const;
  /// A sequential source of the bytes from `at` on.
  NextBytes from(std::uint64_t at) const;

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }  ///< for messages

 private:
  std::string name_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace heed::io
