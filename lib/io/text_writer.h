// Text output of a tool: "-" is stdout; pipes and devices are written at once, files are put in place
// atomically.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/atomic_file.h"
#include "io/byte_stream.h"

namespace heed::io {

class TextWriter {
 public:
  /// Opens `path`. Throws Error when it cannot be written (here, before any long computation).
  explicit TextWriter(const std::string& path);
  /// Writes all of `text`, unbuffered.
  void write(std::string_view text);
  /// Puts a file in place, or closes the stream. Without finish() no file is created.
  void finish();

 private:
  std::string name_;
  std::unique_ptr<AtomicFile> file_;  ///< null: the text goes to stream_
  Descriptor stream_;
};

/// Writes a whole file so: a table, text, a picture.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace heed::io
