// RAII for HDF5 identifiers, and HDF5 errors as heed::Error. Internal to lib/io.
#pragma once

#include <hdf5.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// Initialises the HDF5 library, once per process and thread: no diagnostics on stderr, no plugins, no file
/// locks, Error instead of abort() when header and library versions differ, and no clean-up at exit, where
/// the library crashes if the disk is full. Call it before any other HDF5 function.
void start_hdf5();

/// Starts HDF5 for this thread, and keeps other threads from using it, and from forking, until the lock is destroyed: a
/// child that is forked while HDF5 is in use could not use it, and it need not be thread-safe. Not for the time that a
/// pipe may be full.
std::unique_lock<std::mutex> use_hdf5();

/// HDF5's description of its last failure, or the system's ("No space left on device") if there is one.
std::string hdf5_reason();

/// Owns one identifier of any kind. Closing writes what HDF5 still buffers, so a failure in a destructor is
/// remembered until a file is completed.
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

  /// Whether any destructor of this process has failed to close an identifier.
  static bool has_lost() { return lost_; }

 private:
  void reset() {
    const hid_t id = std::exchange(id_, -1);
    if (id >= 0 && H5Iis_valid(id) > 0 && close_(id) < 0) lost_ = true;
  }
  static inline std::atomic<bool> lost_{false};
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

/// Variable-length UTF-8 strings, which viewers require for datasets: xarray with netCDF-C 4.9.0 crashes on
/// others.
Handle string_type();
/// UTF-8 strings of at most `bytes` bytes, padded with NUL, for attributes, which lie in object headers.
Handle string_type(std::size_t bytes);

/// HDF5's element type in our files and in memory (none for strings), and its size in memory.
struct ElementType {
  hid_t in_file, in_memory;
  std::int64_t bytes;
};
ElementType element_type(DType dtype);

/// The group `path` of `file`, creating it and its parents if they are not yet in `groups`, where they stay
/// open. `name`: the file's, for messages.
hid_t group_of(std::map<std::string, Handle>& groups, hid_t file, const std::string& path,
               const std::string& name);

inline std::vector<hsize_t> sizes_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

/// Selects `count` elements from `start` on in each dimension of `space`; returns a space of that size.
Handle select(hid_t space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
              const std::string& what);

}  // namespace heed::io
