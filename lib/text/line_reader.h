// Text files, line by line and in constant memory. What a line is:
//  - it ends with LF or CR LF; the last line counts even without one; a CR elsewhere is an ordinary
//  character;
//  - a byte order mark at the start of the file is dropped, elsewhere it is an ordinary character;
//  - it is valid UTF-8 without NUL: anything else is an error that names file, line and byte, or becomes
//  U+FFFD
//    when asked for. A line never ends early and none is skipped, so lines and sentences stay in step.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace heed::text {

class LineReader {
 public:
  /// Opens `path`; "-" is the standard input. With `replace`, invalid bytes become U+FFFD.
  explicit LineReader(const std::string& path, bool replace = false);

  /// Puts the next line, without its end, into `line`. False at the end of the text.
  bool next(std::string& line);

  /// Number of the line last read, from 1.
  std::int64_t line_number() const { return line_number_; }
  /// The path, or "<stdin>".
  const std::string& name() const { return name_; }

 private:
  bool read_raw(std::string& line);
  bool fill();
  void clean(std::string& line) const;

  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::string name_;
  bool replace_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t line_number_ = 0;
};

/// All lines of a file.
std::vector<std::string> read_lines(const std::string& path, bool replace = false);

}  // namespace heed::text
