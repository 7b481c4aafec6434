// Files of long integer columns, such as a corpus: written incrementally in constant memory, and read by
// mapping. A column is a one-dimensional HDF5 dataset in chunks of 1 MiB, each with its Fletcher-32, readable
// by any HDF5 library. Here the file is mapped read-only, so all processes of a machine share one copy, and a
// chunk is verified when it is first used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/options.h"
#include "tensor/tensor_map.h"

namespace heed::io {

class ColumnWriter {
 public:
  /// Puts the file `path` in place when finished. Throws Error if it cannot be written.
  ColumnWriter(const std::string& path, WriteOptions options);
  ~ColumnWriter();
  ColumnWriter(ColumnWriter&&) noexcept;
  ColumnWriter& operator=(ColumnWriter&&) noexcept;

  /// Begins a column: `path` with its group, such as "corpus/source/ids"; u16 or, if `wide`, i32; `dim` names
  /// its dimension.
  void add(const std::string& path, bool wide, const std::string& dim);
  /// Throws Error if a value does not fit the column's type.
  void append(const std::string& path, std::span<const std::int32_t> values);
  /// `root`: attributes of the file; `about`: attributes of the group.
  void finish(const Attributes& root, const std::string& group, const Attributes& about);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A column of a mapped file. Thread-safe.
class Column {
 public:
  struct Storage;
  explicit Column(std::unique_ptr<Storage> storage);
  Column(Column&&) noexcept;
  ~Column();
  std::int64_t size() const;
  /// Reads values from index `first` on. Throws Error if the stored values do not match their checksum.
  void read(std::int64_t first, std::span<std::int32_t> values) const;

 private:
  std::unique_ptr<Storage> storage_;
};

class MappedColumns {
 public:
  /// Maps the file. Throws Error when it cannot be read or its structure is damaged.
  explicit MappedColumns(const std::string& path);
  ~MappedColumns();
  MappedColumns(const MappedColumns&) = delete;
  MappedColumns& operator=(const MappedColumns&) = delete;

  /// Throws Error if there is no such column.
  const Column& at(const std::string& path) const;
  /// The attributes of the file, and of a group; empty if there is no such group.
  const Attributes& root() const { return about_.attributes; }
  Attributes group(const std::string& path) const;
  /// For messages.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  TensorMap about_;  ///< without tensors
  std::vector<std::pair<std::string, Column>> columns_;
};

}  // namespace heed::io
