#include "io/foreign/seekable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/paths.h"

namespace heed::io {

SeekableFile::SeekableFile(const std::string& path) : name_(name_of_input(path)) {
  reserve_standard_streams();
  // The name may be anything in a folder: opening a FIFO must not wait for its writer.
  file_ = path == "-" ? Descriptor(STDIN_FILENO, false)
                      : Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file_.get() < 0 || fstat(file_.get(), &info) != 0) fail_errno(name_, "cannot read");
  if (!S_ISREG(info.st_mode)) fail(name_, ": not a regular file");
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void SeekableFile::read_at(std::uint64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(name_, "cannot read");
    if (got == 0) fail(name_, ": ends at byte ", at, ": is it being written?");
    at += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

NextBytes SeekableFile::from(std::uint64_t at) const {
  return [this, at](std::span<std::byte> bytes) mutable {
    read_at(at, bytes);
    at += bytes.size();
  };
}

}  // namespace heed::io
