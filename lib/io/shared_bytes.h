// The bytes of a stream as they arrive, where another process can read them. Internal to lib/io.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/byte_stream.h"

namespace heed::io {

/// Memory without a name that processes share through its descriptor. -1: the system has none to give, or
/// limits the size of files, which would be its limit too.
Descriptor new_shared_memory();

/// Bytes in shared memory, or in that of this process if there is none. They move when they grow. Pages are kept for
/// reuse, because getting new ones takes the system longer than copying takes to fill them.
class SharedBytes {
 public:
  /// `memory`: from new_shared_memory(), empty, not owned.
  explicit SharedBytes(int memory) : memory_(memory) {}
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  bool is_shared() const { return memory_ >= 0; }
  std::size_t size() const { return size_; }
  operator std::span<const std::byte>() const { return {begin_, size_}; }
  void clear() { size_ = 0; }
  /// False, and nothing is appended, if there is no memory for them.
  bool append(std::span<const std::byte> bytes);
  /// Appends up to `count` bytes from `fd`, across short reads; fewer only at the end of input. Returns their
  /// number. Memory grows with the bytes received, not with `count`. Throws Error naming `name`, or std::bad_alloc.
  std::size_t append_from(int fd, std::size_t count, const std::string& name);

 private:
  bool grow(std::size_t bytes);

  int memory_;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace heed::io
