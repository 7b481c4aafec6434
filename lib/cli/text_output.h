// Lines of text to stdout, a pipe or a file. A file appears whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace heed::cli {

class TextOutput {
 public:
  /// Opens `path`; "-" is stdout. Throws Error when it cannot be written.
  explicit TextOutput(const std::string& path);
  ~TextOutput();

  void line(std::string_view text);
  /// Hands on what was written so far, for a reader who waits.
  void flush();
  /// Puts the file in place. Throws Error when anything failed to reach the disk. Without it no file appears.
  void finish();

 private:
  struct Target;
  std::unique_ptr<Target> target_;
  std::string buffer_;
};

}  // namespace heed::cli
