// A file that is read at any place. Internal to lib/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "io/byte_stream.h"

namespace heed::io {

/// Fills the span with the next bytes of something that is read from its start to its end.
using NextBytes = std::function<void(std::span<std::byte>)>;

class SeekableFile {
 public:
  /// `path` - is stdin. Throws Error when it cannot be read or is no regular file.
  explicit SeekableFile(const std::string& path);

  /// Fills `bytes` from the offset `at`. Throws Error when the file ends before.
  void read_at(std::uint64_t at, std::span<std::byte> bytes) const;
  /// The bytes from `at` on.
  NextBytes from(std::uint64_t at) const;

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }  ///< for messages

 private:
  std::string name_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace heed::io
