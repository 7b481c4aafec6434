// File descriptors: reads and writes that handle short transfers, with readable errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heed::io {

/// Owns a descriptor; closes it quietly. -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1, bool owned = true) : fd_(fd), owned_(owned) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  /// Closes; throws Error naming `what` if the system reports a late write error.
  void close(const std::string& what);

 private:
  void reset() noexcept;
  int fd_;
  bool owned_;
};

/// Occupies closed standard streams with descriptors that fail on use (EBADF), so that no file opened later
/// becomes 0, 1 or 2 and receives data or messages meant for a stream.
void reserve_standard_streams();

/// Throws FileError "<what>: <doing>: No space left on device"; `what` is a file; reads errno.
[[noreturn]] void fail_errno(const std::string& what, const std::string& doing);

/// Opens `path` for reading. Throws Error.
Descriptor open_for_reading(const std::string& path);

/// Reads what is there, at least a byte, into a buffer that is not empty; 0 at the end of input. Throws Error
/// naming `name`.
std::size_t read_some(int fd, std::span<std::byte> into, const std::string& name);

/// Reads all of `into` from `at`. Throws Error beginning with `where` if it cannot or the file ends before.
void read_at(int file, std::uint64_t at, std::span<std::byte> into, const std::string& where);

/// Writes all of `bytes`, across short writes. Throws Error naming `name`.
void write_bytes(int fd, std::span<const std::byte> bytes, const std::string& name);

}  // namespace heed::io
