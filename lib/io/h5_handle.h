// RAII for HDF5 identifiers, and HDF5 errors as heed::Error. Only .cpp files of lib/io include this.
#pragma once

#include <hdf5.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed::io {

/// Initialises the HDF5 library, once per process and thread: no diagnostics on stderr, no plugins, no file
/// locks, Error instead of abort() when header and library versions differ, and no clean-up at exit, where
/// the library crashes if the disk is full. Call it before any other HDF5 function.
void start_hdf5();

/// HDF5's description of its last failure; the system's ("No space left on device") if there is one.
std::string hdf5_reason();

/// Owns one identifier of any kind.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }
  hid_t get() const { return id_; }
  operator hid_t() const { return id_; }
  /// Closes now; false on failure (closing a file flushes it).
  bool close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  void reset() {
    if (id_ >= 0) close_(id_);
    id_ = -1;
  }
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// `id` as an owning handle. Throws Error "<what>: <HDF5's reason>" when it is invalid.
template <class... What>
Handle own(hid_t id, herr_t (*close)(hid_t), const What&... what) {
  if (id < 0) fail(what..., ": ", hdf5_reason());
  return Handle(id, close);
}

/// Throws Error "<what>: <HDF5's reason>" when an HDF5 call returned a failure.
template <class... What>
void require(long long result, const What&... what) {
  if (result < 0) fail(what..., ": ", hdf5_reason());
}

/// The type of strings of at most `bytes` bytes, UTF-8, padded with NUL. Strings of variable length lie in a
/// heap without checksums, so there are none.
Handle string_type(std::size_t bytes);

/// Longest string that is written and read, in bytes.
inline constexpr std::size_t kMaxString = std::size_t{1} << 20;

/// `text` as consecutive fields of `width` bytes, each padded with NUL. Throws Error naming `where` when one
/// is longer than kMaxString or contains a NUL.
std::vector<char> padded(std::span<const std::string> text, std::size_t width, const std::string& where);
std::size_t longest_of(std::span<const std::string> text);

}  // namespace heed::io
