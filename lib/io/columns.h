// Files of long columns of integers, such as a corpus: written as they come, in constant memory, and read where they lie. A
// column is an HDF5 dataset of one dimension in chunks of 1 MiB, each with its Fletcher-32, as any HDF5 library reads it. Here
// the file is mapped, read-only, so that all processes of a machine share one copy, and a chunk is checked when it is touched
// first.
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
  /// Puts the file `path` in place when it is finished. Throws Error when it cannot be written.
  ColumnWriter(const std::string& path, WriteOptions options);
  ~ColumnWriter();
  ColumnWriter(ColumnWriter&&) noexcept;
  ColumnWriter& operator=(ColumnWriter&&) noexcept;

  /// A new column: `path` with its group, such as "corpus/source/ids"; u16 or, if `wide`, i32; the name of its dimension.
  void add(const std::string& path, bool wide, const std::string& dim);
  /// Throws Error when a value does not fit the column.
  void append(const std::string& path, std::span<const std::int32_t> values);
  /// `root`: attributes of the file; `about`: those of the group.
  void finish(const Attributes& root, const std::string& group, const Attributes& about);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A column of a mapped file. May be read by several threads.
class Column {
 public:
  struct Storage;
  explicit Column(std::unique_ptr<Storage> storage);
  Column(Column&&) noexcept;
  ~Column();
  std::int64_t size() const;
  /// Values from number `first` on. Throws Error when what is stored there does not fit its checksum.
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

  /// Throws Error when there is none of that path.
  const Column& at(const std::string& path) const;
  /// Of the file, and of a group; none when there is no such group.
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
