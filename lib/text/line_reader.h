// Text files, read line by line, one file after the other and in constant memory. Data in a pipe is read as
// soon as it arrives. A line
//  - ends with LF or CR LF, which the last line may lack; a CR elsewhere is an ordinary character;
//  - is valid UTF-8 without NUL: anything else is an Error naming file, line and byte, or becomes U+FFFD on
//    request;
//  - is at most as long as allowed: otherwise an Error naming file, line and length.
// A byte order mark at the start of the file is dropped, unless it is to be kept; elsewhere it is an ordinary
// character. No line is skipped or split, so lines and sentences correspond.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::text {

enum class ByteOrderMark { drop, keep };

class LineReader {
 public:
  /// Longer than any line of text: /dev/zero.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;

  /// Opens `path`; "-" is the standard input. With `replace`, invalid bytes become U+FFFD.
  explicit LineReader(const std::string& path, bool replace = false, std::int64_t max_bytes = kMostBytes,
                      ByteOrderMark mark = ByteOrderMark::drop);
  explicit LineReader(std::vector<std::string> paths, bool replace = false,
                      std::int64_t max_bytes = kMostBytes, ByteOrderMark mark = ByteOrderMark::drop);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Reads the next line, without its end, into `line`. False at the end of the text. Throws Error.
  bool next(std::string& line);

  /// Whether next() can return without waiting: a line, the beginning of one, or the end is available.
  bool has_arrived() const;

  /// The number of lines in the text before the first file: they are included in line numbers of that file.
  void count_from(std::int64_t lines_before) { lines_before_ = lines_before; }
  /// Number of the line last read, from 1, in its file.
  std::int64_t line_number() const { return line_number_ + (at_ == 0 ? lines_before_ : 0); }
  /// Number of lines read, from all files.
  std::int64_t lines() const { return lines_; }
  /// "name:line" of the line last read, or of a further one, for messages: the line of the file, or of the
  /// whole text where it comes from a pipe.
  std::string place(std::int64_t further = 0) const;
  /// The path, or "<stdin>".
  const std::string& name() const { return name_; }

 private:
  void open();
  void close();
  bool read_raw(std::string& line);
  bool fill();
  [[noreturn]] void refuse_long(std::int64_t bytes);
  void clean(std::string& line) const;

  std::vector<std::string> paths_;
  std::size_t at_ = 0;  ///< index of the open path
  std::string name_;
  bool replace_;
  std::int64_t max_bytes_;
  ByteOrderMark mark_;
  int file_ = -1;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t line_number_ = 0, lines_ = 0, lines_before_ = 0;
};

/// All lines of a file.
std::vector<std::string> read_lines(const std::string& path, bool replace = false);

}  // namespace heed::text
