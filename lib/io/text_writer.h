// Text output of a tool: "-" is stdout, a pipe or device gets the bytes as they come, a file appears whole or
// not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/atomic_file.h"
#include "io/byte_stream.h"

namespace heed::io {

class TextWriter {
 public:
  /// Throws Error when the output cannot be written, before any long computation.
  explicit TextWriter(const std::string& path);
  /// Hands all of `text` to the system: what is written is on its way, nothing waits in a buffer.
  void write(std::string_view text);
  /// Puts a file in place, or closes the stream. Without it a file is not made.
  void finish();

 private:
  std::string name_;
  std::unique_ptr<AtomicFile> file_;  ///< null: stream_ takes the text
  Descriptor stream_;
};

}  // namespace heed::io
