#include "train/run_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "io/atomic_file.h"

namespace heed {

namespace {

/// Whether the open file is still the one at `path`: its last owner may just have removed it.
bool names_open_file(const std::string& path, int descriptor) {
  struct stat by_path {
  }, by_descriptor{};
  return ::stat(path.c_str(), &by_path) == 0 && ::fstat(descriptor, &by_descriptor) == 0 &&
         by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev;
}

void check_writable(const std::string& path) {
  io::AtomicFile trial(path);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error) fail(escaped(path), ": cannot make this folder: ", error.message());
}

}  // namespace

void RunFiles::expect_names_fit() const {
  const std::filesystem::path folder = std::filesystem::path(model).parent_path();
  const long limit = ::pathconf(folder.empty() ? "." : folder.c_str(), _PC_NAME_MAX);
  for (const std::string& path : {checkpoint, next_previous, snapshot_folder, metrics, lock}) {
    const std::string name = std::filesystem::path(path).filename();
    if (limit > 0 && std::cmp_greater(name.size(), limit))
      fail(escaped(model), ": the name is too long: with ", escaped(path.substr(model.size())),
           ", a file beside it, it has ", name.size(), " bytes, wanted at most ", limit);
  }
}

RunLock::RunLock(const RunFiles& files) : path_(files.lock) {
  take(files);
  try {
    ::unlink(files.next_previous.c_str());
    write_owner();
    check_writable(files.model);
    make_folder(files.snapshot_folder);
    for (const std::string& path : {files.checkpoint, files.previous_checkpoint, files.metrics})
      check_writable(path);
    check_writable(files.snapshot_folder + "/epoch_0000.h5");
  } catch (...) {
    release();
    throw;
  }
}

void RunLock::take(const RunFiles& files) {
  for (;;) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) check_writable(files.model);  // says better what is wrong
    if (descriptor_ < 0) fail(escaped(path_), ": cannot open: ", std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const std::string other = owner();
      ::close(descriptor_);
      fail(escaped(path_), ": another trainer (process ", other.empty() ? "unknown" : other,
           ") is working on this model: wait for it or choose another output");
    }
    if (names_open_file(path_, descriptor_)) return;
    ::close(descriptor_);
  }
}

std::string RunLock::owner() const {
  char text[24] = {};
  const ssize_t count = ::pread(descriptor_, text, sizeof text - 1, 0);
  std::string digits;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i) digits += text[i];
  return digits;
}

void RunLock::write_owner() const {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(escaped(path_), ": cannot write: ", std::strerror(errno));
  }
}

RunLock::~RunLock() {
  release();
}

void RunLock::release() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace heed
