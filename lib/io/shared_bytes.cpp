#include "io/shared_bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace heed::io {

Descriptor new_shared_memory() {
  rlimit files{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &files);
  return Descriptor(files.rlim_cur == RLIM_INFINITY ? memfd_create("heed", MFD_CLOEXEC) : -1);
}

SharedBytes::~SharedBytes() {
  if (begin_) munmap(begin_, capacity_);
}

/// Whatever is not touched takes no memory.
bool SharedBytes::grow(std::size_t bytes) {
  constexpr std::size_t step = std::size_t{4} << 20;
  const std::size_t capacity = (std::max(bytes, 2 * capacity_) + step - 1) / step * step;
  if (is_shared() && ftruncate(memory_, static_cast<off_t>(capacity)) != 0) return false;
  const int kind = is_shared() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const place = begin_ ? mremap(begin_, capacity_, capacity, MREMAP_MAYMOVE)
                             : mmap(nullptr, capacity, PROT_READ | PROT_WRITE, kind, memory_, 0);
  if (place == MAP_FAILED) return false;
  begin_ = static_cast<std::byte*>(place);
  capacity_ = capacity;
  return true;
}

bool SharedBytes::append(std::span<const std::byte> bytes) {
  if (bytes.size() > capacity_ - size_ && !grow(size_ + bytes.size())) return false;
  if (!bytes.empty()) std::memcpy(begin_ + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  return true;
}

std::size_t SharedBytes::append_from(int fd, std::size_t count, const std::string& name) {
  std::size_t total = 0;
  while (total < count) {
    if (size_ == capacity_ && !grow(size_ + 1)) throw std::bad_alloc();
    const std::size_t got = read_some(fd, {begin_ + size_, std::min(count - total, capacity_ - size_)}, name);
    if (got == 0) break;
    size_ += got;
    total += got;
  }
  return total;
}

}  // namespace heed::io
