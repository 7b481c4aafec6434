// Atomic output files: the bytes go to a temporary file in the target's folder, which is synced and renamed
// to the target only after everything has succeeded. Until then the target is unchanged, so it may be the
// input of the same command.
#pragma once

#include <string>
#include <string_view>

#include "io/byte_stream.h"

namespace heed::io {

class AtomicFile {
 public:
  /// Creates the temporary file. Throws Error at once, before any long computation, if the folder is missing
  /// or not writable, or if the target is a folder, a dangling link or another non-regular file. Symbolic
  /// links are followed. The mode of an existing target is kept; its other hard links keep the old content.
  explicit AtomicFile(const std::string& path);
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const { return temporary_; }
  void write(std::string_view bytes);
  /// fsync, close, rename, fsync of the folder; each is checked. Throws Error naming the target.
  void commit();

 private:
  void create_temporary();
  void remove_leftovers() const;
  void copy_mode_of_target();

  std::string name_;       ///< the path as given, escaped: for messages
  std::string target_;     ///< after following links
  std::string folder_;     ///< of the target
  std::string temporary_;  ///< empty once renamed or removed
  Descriptor file_;
  int slot_ = -1;  ///< in base/cleanup, for signals
};

/// Whether `path` exists and cannot be replaced by rename: a pipe, a terminal, /dev/full.
bool is_special_file(const std::string& path);

}  // namespace heed::io
