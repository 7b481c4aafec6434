#include "io/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/cleanup.h"
#include "base/error.h"

namespace heed::io {
namespace {

/// The target of a write to `path`, after following symbolic links.
std::string resolved(const std::string& path, const std::string& name) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  char* real = realpath(path.c_str(), nullptr);
  if (!real) fail_errno(name, "cannot follow the symbolic link");
  std::string target = real;
  std::free(real);
  return target;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : name_(escaped(path)) {
  reserve_standard_streams();
  if (path.empty()) fail("the output path is empty");
  target_ = resolved(path, name_);
  folder_ = folder_of(target_);
  struct stat info;
  if (stat(target_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail(name_, ": cannot write: is a directory");
    if (!S_ISREG(info.st_mode)) fail(name_, ": cannot write: not a regular file");
  } else if (errno == ENAMETOOLONG) {
    fail_errno(name_, "cannot write");  // now, not when the work is done: the temporary name would fit
  }
  remove_leftovers();
  create_temporary();
  try {
    copy_mode_of_target();
  } catch (...) {
    unlink(temporary_.c_str());
    unregister_temporary(slot_);
    throw;
  }
}

void AtomicFile::remove_leftovers() const {
  DIR* folder = opendir(folder_.c_str());
  if (!folder) return;  // creating the file reports the reason
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(".heed-") || !name.ends_with(".tmp")) continue;
    const std::string path = concat(folder_, "/", name);
    Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  }
  closedir(folder);
}

void AtomicFile::create_temporary() {
  // The name does not contain the target's, so that a target of 255 bytes works too.
  static std::atomic<int> counter{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary_ = concat(folder_, "/.heed-", getpid(), "-", counter++, ".tmp");
    slot_ = register_temporary(temporary_);
    const int fd = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      file_ = Descriptor(fd);
      // The lock marks the file as in use until the process ends, however it ends. Another process may
      // have removed the file first; then another one is needed.
      struct stat info;
      if (flock(fd, LOCK_EX) != 0 || (fstat(fd, &info) == 0 && info.st_nlink > 0)) return;
      errno = EEXIST;
    }
    unregister_temporary(slot_);
    if (errno != EEXIST && errno != EINTR) fail_errno(name_, concat("cannot write in ", escaped(folder_)));
  }
  fail(name_, ": cannot find a free name for a temporary file in ", escaped(folder_));
}

void AtomicFile::copy_mode_of_target() {
  struct stat old;
  if (stat(target_.c_str(), &old) != 0) return;
  // Restoring the owner needs a privilege; failure to do so is ignored.
  if (fchown(file_.get(), old.st_uid, old.st_gid) != 0) errno = 0;
  if (fchmod(file_.get(), old.st_mode & 07777) != 0) fail_errno(name_, "cannot keep the mode of the file");
}

AtomicFile::~AtomicFile() {
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  unregister_temporary(slot_);
}

void AtomicFile::write(std::string_view bytes) {
  write_bytes(file_.get(), as_bytes(bytes), name_);
}

void AtomicFile::commit() {
  if (fsync(file_.get()) != 0) fail_errno(name_, "cannot write to disk (fsync)");
  // Keeps the lock beyond the close: without it another writer in this folder takes the file for a leftover.
  const Descriptor lock(fcntl(file_.get(), F_DUPFD_CLOEXEC, 3));
  file_.close(name_);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail_errno(name_, "cannot rename the finished file");
  unregister_temporary(slot_);
  temporary_.clear();
  Descriptor folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder (EINVAL); the rename itself has happened.
  if (folder.get() >= 0 && fsync(folder.get()) != 0 && errno != EINVAL)
    fail_errno(name_, "cannot sync the folder");
}

bool is_special_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace heed::io
