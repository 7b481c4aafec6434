// Files appear whole or not at all: the bytes go to a temporary file in the target's folder, which is synced
// and renamed over the target only when everything worked. Until then the target is untouched, also when it
// is being read as the input of the same command.
#pragma once

#include <string>
#include <string_view>

#include "io/byte_stream.h"

namespace heed::io {

class AtomicFile {
 public:
  /// Creates the temporary file. Fails at once, before any long computation, when the folder is missing or
  /// not writable, or the target is a folder, a dangling link or something that is not a regular file. A
  /// symbolic link is followed. The mode of an existing target is kept; its other hard links keep the old
  /// content.
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

/// Is `path` an existing thing that cannot be replaced by rename: a pipe, a terminal, /dev/full?
bool is_special_file(const std::string& path);

/// The whole of `bytes` under `path`, or the old content: for pictures, tables and text. "-" and special
/// files (a pipe, /dev/stdout) get the bytes directly.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace heed::io
