#include "io/h5_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "io/superblock.h"

namespace heed::io {

/// The disk begins with pieces of this size at once, so that the file's completion has less to wait for.
constexpr ssize_t kWrittenEarly = 64 << 10;

/// The content of a file: bytes to read, an image that grows, or a descriptor. Lives in a property list, so
/// it is copied as plain data.
struct NewFile::Bytes {
  std::span<const std::byte> read_only;
  std::vector<std::byte>* image = nullptr;
  int fd = -1;
  std::uint64_t size = 0;
  int* error = nullptr;  ///< of a new file: gets the errno of the first write that failed

  bool is_new() const { return error != nullptr; }
  bool failed(int number) const {
    if (*error == 0) *error = number;
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_WRITEERROR,
             "error message = '%s'", std::strerror(number));  // as HDF5's own drivers do
    return false;
  }

  bool read(std::uint64_t at, std::span<std::byte> into) const;
  bool write(std::uint64_t at, std::span<const std::byte> from);
  bool truncate(std::uint64_t to);
};

bool NewFile::Bytes::read(std::uint64_t at, std::span<std::byte> into) const {
  if (fd < 0) {
    // What was allocated but not written yet reads as zeros.
    const std::span<const std::byte> all = image ? std::span<const std::byte>(*image) : read_only;
    const std::size_t from = std::min<std::uint64_t>(at, all.size());
    const std::size_t count = std::min(into.size(), all.size() - from);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), count, into.begin());
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(count), into.end(), std::byte{0});
    return is_new() || count == into.size();
  }
  while (!into.empty()) {
    const ssize_t got = pread(fd, into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || (got == 0 && !is_new())) return false;
    if (got == 0) {
      std::fill(into.begin(), into.end(), std::byte{0});
      return true;
    }
    at += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool NewFile::Bytes::write(std::uint64_t at, std::span<const std::byte> from) {
  const std::uint64_t end = at + from.size();
  if (image) {
    if (image->size() < at) image->resize(at);
    const std::size_t held = std::min<std::size_t>(from.size(), image->size() - at);
    std::copy_n(from.begin(), held, image->begin() + static_cast<std::ptrdiff_t>(at));
    image->insert(image->end(), from.begin() + static_cast<std::ptrdiff_t>(held), from.end());
  }
  while (!image && !from.empty()) {
    const ssize_t put = pwrite(fd, from.data(), from.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed(errno);
    if (put >= kWrittenEarly) sync_file_range(fd, static_cast<off_t>(at), put, SYNC_FILE_RANGE_WRITE);
    at += static_cast<std::uint64_t>(put);
    from = from.subspan(static_cast<std::size_t>(put));
  }
  size = std::max(size, end);
  return true;
}

bool NewFile::Bytes::truncate(std::uint64_t to) {
  if (image)
    image->resize(to);
  else if (ftruncate(fd, static_cast<off_t>(to)) != 0)
    return failed(errno);
  size = to;
  return true;
}

namespace {

/// HDF5's view of an open file comes first, as it casts.
struct DrivenFile {
  H5FD_t base;
  NewFile::Bytes bytes;
  haddr_t end_of_allocation;
};

DrivenFile* of(H5FD_t* file) {
  return reinterpret_cast<DrivenFile*>(file);
}
const DrivenFile* of(const H5FD_t* file) {
  return reinterpret_cast<const DrivenFile*>(file);
}

// ---- the driver's functions; exceptions must not pass through C code ----

H5FD_t* open_driven(const char*, unsigned, hid_t access, haddr_t) {
  const auto* bytes = static_cast<const NewFile::Bytes*>(H5Pget_driver_info(access));
  if (!bytes) return nullptr;
  auto* file = new (std::nothrow) DrivenFile{};
  if (!file) return nullptr;
  file->bytes = *bytes;
  return &file->base;
}

herr_t close_driven(H5FD_t* file) {
  delete of(file);
  return 0;
}

herr_t query(const H5FD_t* file, unsigned long* flags) {
  if (!flags) return 0;
  *flags = H5FD_FEAT_DATA_SIEVE;
  // Gathers small writes; an image gains nothing from it and would keep the gaps.
  if (file && of(file)->bytes.fd >= 0 && of(file)->bytes.is_new())
    *flags |= H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
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
  return of(file)->bytes.size;
}

herr_t read_driven(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* buffer) {
  const NewFile::Bytes& bytes = of(file)->bytes;
  if (!bytes.is_new() && (at > bytes.size || size > bytes.size - at)) return -1;
  const std::span<std::byte> into(static_cast<std::byte*>(buffer), size);
  return bytes.read(at, into) && is_sound_heap(into) ? 0 : -1;
}

herr_t write_driven(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, const void* buffer) {
  NewFile::Bytes& bytes = of(file)->bytes;
  try {
    return bytes.is_new() && bytes.write(at, {static_cast<const std::byte*>(buffer), size}) ? 0 : -1;
  } catch (const std::bad_alloc&) {
    bytes.failed(ENOMEM);
    return -1;
  }
}

herr_t truncate_driven(H5FD_t* file, hid_t, hbool_t) {
  NewFile::Bytes& bytes = of(file)->bytes;
  try {
    const haddr_t end = of(file)->end_of_allocation;
    return !bytes.is_new() || bytes.size == end || bytes.truncate(end) ? 0 : -1;
  } catch (const std::bad_alloc&) {
    bytes.failed(ENOMEM);
    return -1;
  }
}

hid_t driver() {
  static const hid_t id = [] {
    static H5FD_class_t description{};
    description.name = "heed";
    description.maxaddr = INT64_MAX;
    description.fc_degree = H5F_CLOSE_STRONG;
    description.fapl_size = sizeof(NewFile::Bytes);
    description.open = open_driven;
    description.close = close_driven;
    description.query = query;
    description.get_eoa = end_of_allocation;
    description.set_eoa = set_end_of_allocation;
    description.get_eof = end_of_file;
    description.read = read_driven;
    description.write = write_driven;
    description.truncate = truncate_driven;
    for (H5FD_mem_t& kind : description.fl_map) kind = H5FD_MEM_DEFAULT;
    return H5FDregister(&description);
  }();
  return id;
}

Handle access_list(const NewFile::Bytes& bytes, const std::string& name) {
  start_hdf5();
  Handle access = own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, name);
  require(H5Pset_driver(access, driver(), &bytes), name, ": cannot set up HDF5");
  require(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), name);
  return access;
}

Handle open_with(const NewFile::Bytes& bytes, const std::string& name) {
  Handle access = access_list(bytes, name);
  return own(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access), H5Fclose, name, ": damaged HDF5 data");
}

}  // namespace

void register_driver() {
  driver();
}

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
  return open_with({bytes, nullptr, -1, bytes.size(), nullptr}, name);
}

Handle open_hdf5(int fd, std::uint64_t size, const std::string& name) {
  return open_with({{}, nullptr, fd, size, nullptr}, name);
}

NewFile::NewFile(std::size_t expected, const std::string& name) : name_(name) {
  image_.reserve(expected);
  create({{}, &image_, -1, 0, &error_});
}

NewFile::NewFile(const std::string& path, const std::string& name)
    : name_(name), output_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (output_.get() < 0) fail_errno(name_, "cannot create");
  create({{}, nullptr, output_.get(), 0, &error_});
}

void NewFile::create(const Bytes& bytes) {
  Handle access = access_list(bytes, name_);
  // Everything must be closed with the file: an open handle would delay its completion.
  require(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), name_);
  Handle creation = own(H5Pcreate(H5P_FILE_CREATE), H5Pclose, name_);
  require(H5Pset_obj_track_times(creation, false), name_);
  file_ = own(H5Fcreate(name_.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose, name_, ": cannot create");
}

void NewFile::close() {
  const bool closed = file_.close();
  if (error_ != 0) {
    errno = error_;
    fail_errno(name_, "cannot write");
  }
  if (!closed) fail(name_, ": cannot write: ", hdf5_reason());
  if (Handle::has_lost())
    fail(name_, ": cannot write: HDF5 could not complete an object, as when memory runs out");
}

}  // namespace heed::io
