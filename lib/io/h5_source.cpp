#include "io/h5_source.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "io/superblock.h"

namespace heed::io {
namespace {

/// The file to open. Lives in a property list, so it is plain data.
struct Source {
  const std::byte* bytes;  ///< null: read from fd
  int fd;
  std::uint64_t size;
};

/// HDF5's view of an open file comes first, as it casts.
struct SourceFile {
  H5FD_t base;
  Source source;
  haddr_t end_of_allocation;
};

SourceFile* of(H5FD_t* file) {
  return reinterpret_cast<SourceFile*>(file);
}

const SourceFile* of(const H5FD_t* file) {
  return reinterpret_cast<const SourceFile*>(file);
}

H5FD_t* open_source(const char*, unsigned, hid_t access, haddr_t) {
  auto* source = static_cast<const Source*>(H5Pget_driver_info(access));
  if (!source) return nullptr;
  auto* file = new (std::nothrow) SourceFile{};
  if (!file) return nullptr;
  file->source = *source;
  return &file->base;
}

herr_t close_source(H5FD_t* file) {
  delete of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
  return of(file)->end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file)->end_of_allocation = address;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return of(file)->source.size;
}

bool read_file(int fd, std::uint64_t at, std::byte* into, std::size_t size) {
  while (size > 0) {
    const ssize_t got = pread(fd, into, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<std::uint64_t>(got);
    into += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

herr_t read_source(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* buffer) {
  const Source& source = of(file)->source;
  if (at > source.size || size > source.size - at) return -1;
  auto* into = static_cast<std::byte*>(buffer);
  if (source.bytes)
    std::memcpy(into, source.bytes + at, size);
  else if (!read_file(source.fd, at, into, size))
    return -1;
  return is_sound_heap({into, size}) ? 0 : -1;
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

hid_t driver() {
  static const hid_t id = [] {
    static H5FD_class_t description{};
    description.name = "heed";
    description.maxaddr = INT64_MAX;
    description.fc_degree = H5F_CLOSE_STRONG;
    description.fapl_size = sizeof(Source);
    description.open = open_source;
    description.close = close_source;
    description.query = query;
    description.get_eoa = end_of_allocation;
    description.set_eoa = set_end_of_allocation;
    description.get_eof = end_of_file;
    description.read = read_source;
    description.write = refuse_write;
    for (H5FD_mem_t& kind : description.fl_map) kind = H5FD_MEM_DEFAULT;
    return H5FDregister(&description);
  }();
  return id;
}

Handle open_with(const Source& source, const std::string& name) {
  start_hdf5();
  Handle access = own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, name);
  require(H5Pset_driver(access, driver(), &source), name, ": cannot set up HDF5");
  return own(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access), H5Fclose, name, ": damaged HDF5 data");
}

}  // namespace

// File Format Specification III.E: "GCOL", version, the size of the collection at 8, objects from 16. An
// object has its index (2 bytes, 0 for the free space), a reference count (2), 4 bytes of nothing, its size
// (8), and its data padded to 8; the size of the free space includes its header.
bool is_sound_heap(std::span<const std::byte> block) {
  constexpr std::size_t header = 16;
  if (block.size() < header || std::memcmp(block.data(), "GCOL", 4) != 0) return true;
  const std::uint64_t size = little_endian(block.subspan(8, 8));
  if (size > block.size()) return true;
  std::uint64_t at = header;
  while (at + header <= size) {
    const bool is_free = little_endian(block.subspan(at, 2)) == 0;
    const std::uint64_t held = little_endian(block.subspan(at + 8, 8));
    if (held > size) return false;
    const std::uint64_t taken = is_free ? held : header + (held + 7) / 8 * 8;
    if (taken == 0 || taken > size - at) return false;
    at += taken;
  }
  return true;
}

Handle open_hdf5(std::span<const std::byte> bytes, const std::string& name) {
  return open_with({bytes.data(), -1, bytes.size()}, name);
}

Handle open_hdf5(int fd, std::uint64_t size, const std::string& name) {
  return open_with({nullptr, fd, size}, name);
}

}  // namespace heed::io
