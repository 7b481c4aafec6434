#include "io/byte_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

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
  fail<FileError>(what, ": ", doing, ": ", std::strerror(error));
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

std::size_t read_some(int fd, std::span<std::byte> into, const std::string& name) {
  while (true) {
    const ssize_t got = read(fd, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (!should_retry(fd, POLLIN)) fail_errno(name, "cannot read");
  }
}

void read_at(int file, std::uint64_t at, std::span<std::byte> into, const std::string& where) {
  while (!into.empty()) {
    const ssize_t got = pread(file, into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(where, "cannot read its values");
    if (got == 0) fail(where, ": lies beyond the end of the file: cut short while it was read");
    at += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
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
