// HDF5 files through our own driver: an image in memory, or a file through an already open descriptor (so
// stdin works, no name is opened twice and no lock is taken). It checks the string heaps of foreign files as
// they are read, because HDF5 1.10 trusts the sizes in them, and it remembers the first failed write, which
// HDF5 may not report when it flushes its caches. Internal to lib/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/byte_stream.h"
#include "io/h5_handle.h"

namespace heed::io {

/// Registers the driver with HDF5, before the first file is opened. A process must do so before it forks: a
/// child forked while another thread registers would wait forever for that thread.
void register_driver();

/// Opens an image for reading. `bytes` must remain valid and unchanged until the file is closed. Throws
/// Error naming `name`.
Handle open_hdf5(std::span<const std::byte> bytes, const std::string& name);

/// Opens the file of descriptor `fd`, `size` bytes long, which must stay open until the file is closed.
Handle open_hdf5(int fd, std::uint64_t size, const std::string& name);

/// A file being written. Its metadata are in HDF5 1.10's format, in which every structure has a checksum.
class NewFile {
 public:
  /// An image in memory, of about `expected` bytes. `name` is for messages.
  NewFile(std::size_t expected, const std::string& name);
  /// Creates or truncates the file `path`. Throws Error naming `name`.
  NewFile(const std::string& path, const std::string& name);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  hid_t id() const { return file_; }
  /// Writes everything and closes the file. Throws Error if any write has failed.
  void close();
  /// The image, after close().
  std::vector<std::byte> take_image() { return std::move(image_); }

  struct Bytes;  ///< what the driver reads and writes

 private:
  void create(const Bytes& bytes);

  std::string name_;
  Descriptor output_;
  std::vector<std::byte> image_;
  int error_ = 0;
  Handle file_;
};

/// False if `block` is a global heap collection with objects beyond its end. True for blocks of any other
/// kind, and for the beginning of a longer collection.
bool is_sound_heap(std::span<const std::byte> block);

}  // namespace heed::io
