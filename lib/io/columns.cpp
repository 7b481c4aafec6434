#include "io/columns.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/mapped.h"
#include "base/paths.h"
#include "io/atomic_file.h"
#include "io/chunked_tensor.h"
#include "io/fletcher32.h"
#include "io/frame_stream.h"
#include "io/h5_attributes.h"
#include "io/h5_file.h"
#include "io/layout.h"
#include "io/provenance.h"

namespace heed::io {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;

}  // namespace

// ---- writing ----

struct ColumnWriter::Impl {
  struct Open {
    Handle id;
    bool wide;
    std::vector<std::int32_t> waiting;  ///< less than a chunk
    hsize_t written = 0;
    std::size_t chunk() const { return static_cast<std::size_t>(kChunkBytes) / (wide ? 4 : 2); }
  };

  Impl(const std::string& path, WriteOptions o)
      : options(std::move(o)),
        name(escaped(path)),
        atomic(path),
        file(std::in_place, atomic.temporary_path(), name) {}

  std::string where(const std::string& path) const { return name + ":/" + path; }
  hid_t group(const std::string& path);
  void write(Open& column, const std::string& path);

  WriteOptions options;
  std::string name;
  AtomicFile atomic;
  std::optional<NewFile> file;
  std::map<std::string, Handle> groups;  // closed before the file
  std::map<std::string, Open> columns;
};

ColumnWriter::ColumnWriter(const std::string& path, WriteOptions options) {
  start_hdf5();
  impl_ = std::make_unique<Impl>(path, std::move(options));
}
ColumnWriter::~ColumnWriter() = default;
ColumnWriter::ColumnWriter(ColumnWriter&&) noexcept = default;
ColumnWriter& ColumnWriter::operator=(ColumnWriter&&) noexcept = default;

hid_t ColumnWriter::Impl::group(const std::string& path) {
  return group_of(groups, file->id(), path, name);
}

void ColumnWriter::add(const std::string& path, bool wide, const std::string& dim) {
  const std::string where = impl_->where(path);
  Impl::Open column{{}, wide, {}, 0};
  Handle plist = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, where);
  const hsize_t chunk = column.chunk(), none = 0, unlimited = H5S_UNLIMITED;
  require(H5Pset_obj_track_times(plist, false), where);
  require(H5Pset_chunk(plist, 1, &chunk), where);
  require(H5Pset_fletcher32(plist), where);
  Handle space = own(H5Screate_simple(1, &none, &unlimited), H5Sclose, where);
  column.id = own(H5Dcreate2(impl_->group(parent_of(path)), leaf_of(path).c_str(),
                             wide ? H5T_STD_I32LE : H5T_STD_U16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT),
                  H5Dclose, where, ": cannot create the dataset");
  write_attribute(column.id, "dims", std::vector{dim}, where);
  impl_->columns.emplace(path, std::move(column));
}

void ColumnWriter::append(const std::string& path, std::span<const std::int32_t> values) {
  Impl::Open& column = impl_->columns.at(path);
  for (const std::int32_t value : values) {
    if (!column.wide && (value < 0 || value > UINT16_MAX))
      fail(impl_->where(path), ": ", value, " does not fit 16 bits");
    column.waiting.push_back(value);
    if (column.waiting.size() == column.chunk()) impl_->write(column, path);
  }
}

void ColumnWriter::Impl::write(Open& column, const std::string& path) {
  if (column.waiting.empty()) return;
  const hsize_t count = column.waiting.size(), size = column.written + count;
  require(H5Dset_extent(column.id, &size), where(path), ": cannot grow");
  Handle in_file = own(H5Dget_space(column.id), H5Sclose, where(path));
  require(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &column.written, nullptr, &count, nullptr),
          where(path));
  Handle in_memory = own(H5Screate_simple(1, &count, nullptr), H5Sclose, where(path));
  require(H5Dwrite(column.id, H5T_NATIVE_INT32, in_memory, in_file, H5P_DEFAULT, column.waiting.data()),
          where(path), ": cannot write");
  column.written = size;
  column.waiting.clear();
}

void ColumnWriter::finish(const Attributes& root, const std::string& group, const Attributes& about) {
  for (auto& [path, column] : impl_->columns) impl_->write(column, path);
  for (const auto& [name, value] : about)
    write_attribute(impl_->group(group), name, value, impl_->where(group));
  for (const auto& [name, value] : stamped(root, impl_->options.command))
    write_attribute(impl_->group(""), name, value, impl_->name);
  for (const char* mark : {"stream_begin", "stream_end"})
    write_attribute(impl_->group(""), mark, std::int64_t{1}, impl_->name);
  impl_->columns.clear();
  impl_->groups.clear();
  impl_->file->close();
  impl_->atomic.commit();
}

// ---- reading ----

struct Column::Storage {
  std::string where;
  std::span<const std::byte> file;
  std::vector<std::int64_t> addresses;  ///< of chunks
  std::int64_t size, chunk, item_bytes;
  std::vector<std::atomic<bool>> checked;

  std::span<const std::byte> bytes_of(std::int64_t number) {
    const auto index = static_cast<std::size_t>(number);
    const auto count = static_cast<std::size_t>(chunk * item_bytes);
    const auto stored = file.subspan(static_cast<std::size_t>(addresses[index]), count + kFletcherBytes);
    const std::span<const std::byte> bytes = stored.first(count);
    if (!checked[index].load(std::memory_order_relaxed)) {
      if (!fits_fletcher32(bytes, stored.last<kFletcherBytes>()))
        fail(where, ": values ", number * chunk, " to ", std::min((number + 1) * chunk, size) - 1,
             " do not fit their checksum: damaged");
      checked[index].store(true, std::memory_order_relaxed);
    }
    return bytes;
  }
};

Column::Column(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
Column::Column(Column&&) noexcept = default;
Column::~Column() = default;

std::int64_t Column::size() const {
  return storage_->size;
}

void Column::read(std::int64_t first, std::span<std::int32_t> values) const {
  Storage& in = *storage_;
  if (first < 0 || std::ssize(values) > in.size - first)
    fail(in.where, ": has ", in.size, " values, wanted ", values.size(), " from number ", first, " on");
  for (std::size_t done = 0; done < values.size();) {
    const std::int64_t at = first + static_cast<std::int64_t>(done), number = at / in.chunk,
                       within = at % in.chunk;
    const std::size_t count = std::min(values.size() - done, static_cast<std::size_t>(in.chunk - within));
    const std::byte* from = in.bytes_of(number).data() + within * in.item_bytes;
    if (in.item_bytes == 4) {
      std::memcpy(&values[done], from, 4 * count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t value;
        std::memcpy(&value, from + 2 * i, sizeof value);
        values[done + i] = value;
      }
    }
    done += count;
  }
}

namespace {

/// -1, which is none of them, where it is missing or of another type.
std::int64_t number_of(const Attributes& attributes, const char* name) {
  const auto found = attributes.find(name);
  const auto* number = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return number ? *number : -1;
}

}  // namespace

MappedColumns::MappedColumns(const std::string& path) : name_(escaped(path)) {
  about_ = FrameReader(path).layout();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0) fail_errno(name_, "cannot read");
  size_ = static_cast<std::size_t>(info.st_size);
  void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) fail_errno(name_, "cannot map");
  bytes_ = static_cast<std::byte*>(mapped);
  for (auto& [column, addresses] : about_.tensors()) {
    const auto values = addresses.values<std::int64_t>();
    auto storage =
        std::make_unique<Column::Storage>(Column::Storage{name_ + ":/" + escaped(column),
                                                          {bytes_, size_},
                                                          {values.begin(), values.end()},
                                                          number_of(addresses.attributes, "size"),
                                                          number_of(addresses.attributes, "chunk"),
                                                          number_of(addresses.attributes, "item_bytes"),
                                                          std::vector<std::atomic<bool>>(values.size())});
    if ((storage->item_bytes != 2 && storage->item_bytes != 4) || storage->size < 0 || storage->chunk <= 0 ||
        !are_possible(storage->size / storage->chunk + (storage->size % storage->chunk != 0), storage->chunk,
                      static_cast<std::uint64_t>(storage->item_bytes), storage->addresses, size_))
      fail(storage->where, ": lies beyond the end of the file: cut short, or changed while it was opened");
    columns_.emplace_back(column, Column(std::move(storage)));
  }
  about_.tensors().clear();
  mapped_file = name_.c_str();
}

MappedColumns::~MappedColumns() {
  mapped_file = nullptr;
  if (bytes_) munmap(bytes_, size_);
}

const Column& MappedColumns::at(const std::string& path) const {
  for (const auto& [name, column] : columns_)
    if (name == path) return column;
  fail(name_, ": has no /", path, " of integers in checked chunks: is it a file of tokenize --pairs?");
}

Attributes MappedColumns::group(const std::string& path) const {
  const auto found = about_.groups.find(path);
  return found == about_.groups.end() ? Attributes() : found->second.attributes;
}

}  // namespace heed::io
