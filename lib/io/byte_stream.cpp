#include "io/byte_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace heed::io {
namespace {

/// Waits for a descriptor that is non-blocking.
void wait_for(int fd, short events) {
  pollfd ready{fd, events, 0};
  poll(&ready, 1, -1);
}

bool should_retry(int fd, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  wait_for(fd, events);
  return true;
}

}  // namespace

Descriptor::~Descriptor() {
  reset();
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), owned_(other.owned_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    owned_ = other.owned_;
  }
  return *this;
}

void Descriptor::reset() noexcept {
  if (owned_ && fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Descriptor::close(const std::string& what) {
  const int fd = std::exchange(fd_, -1);
  if (owned_ && fd >= 0 && ::close(fd) != 0) fail_errno(what, "closing");
}

void reserve_standard_streams() {
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free number, which is fd. The wrong direction makes every use
    // fail with EBADF.
    if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void fail_errno(const std::string& what, const std::string& doing) {
  const int error = errno;
  fail(what, ": ", doing, ": ", std::strerror(error));
}

Descriptor open_for_reading(const std::string& path) {
  reserve_standard_streams();
  int fd;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) fail_errno(escaped(path), "cannot read");
  return Descriptor(fd);
}

std::size_t read_bytes(int fd, std::size_t count, std::vector<std::byte>& bytes, const std::string& name) {
  constexpr std::size_t step = std::size_t{1} << 20;
  std::size_t total = 0;
  while (total < count) {
    const std::size_t start = bytes.size();
    bytes.resize(start + std::min(count - total, step));
    const ssize_t got = read(fd, bytes.data() + start, bytes.size() - start);
    bytes.resize(start + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && should_retry(fd, POLLIN)) continue;
    if (got < 0) fail_errno(name, "cannot read");
    if (got == 0) break;
    total += static_cast<std::size_t>(got);
  }
  return total;
}

void write_bytes(int fd, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done < 0 && should_retry(fd, POLLOUT)) continue;
    if (done < 0) fail_errno(name, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace heed::io
