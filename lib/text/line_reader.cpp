#include "text/line_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kHdf5 = "\x89HDF";

}  // namespace

void LineReader::Close::operator()(std::FILE* file) const {
  if (file != stdin) std::fclose(file);
}

LineReader::LineReader(const std::string& path, bool replace, std::int64_t max_bytes, ByteOrderMark mark)
    : name_(path == "-" ? "<stdin>" : path),
      replace_(replace),
      max_bytes_(max_bytes),
      mark_(mark),
      buffer_(kBufferBytes) {
  do {
    file_.reset(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  } while (!file_ && errno == EINTR);  // a pipe with a name waits for its writer
  if (!file_) fail(escaped(path), ": cannot open: ", std::strerror(errno));
}

bool LineReader::fill() {
  begin_ = 0;
  do {
    std::clearerr(file_.get());
    end_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (std::ferror(file_.get()) && errno != EINTR) fail(name_, ": cannot read: ", std::strerror(errno));
  } while (end_ == 0 && std::ferror(file_.get()));  // interrupted by a signal
  return end_ > 0;
}

bool LineReader::read_raw(std::string& line) {
  line.clear();
  bool any = false;
  while (begin_ < end_ || fill()) {
    any = true;
    if (line_number_ == 0 && line.empty() &&
        std::string_view(buffer_.data() + begin_, end_ - begin_).starts_with(kHdf5))
      fail(name_,
           ": is an HDF5 file, wanted text: embed, encode and decode read tensors, viz-dump shows them");
    const char* start = buffer_.data() + begin_;
    const void* stop = std::memchr(start, '\n', end_ - begin_);
    std::size_t count =
        stop ? static_cast<std::size_t>(static_cast<const char*>(stop) - start) : end_ - begin_;
    if (std::cmp_greater(line.size() + count, max_bytes_))
      refuse_long(static_cast<std::int64_t>(line.size()));
    line.append(start, count);
    begin_ += count + (stop ? 1 : 0);
    if (stop) break;
  }
  return any;
}

/// Counts what is left of the line after `bytes`, so that the message says how long a line must be allowed.
void LineReader::refuse_long(std::int64_t bytes) {
  bool ended = false;
  while (!ended && bytes <= kMostBytes && (begin_ < end_ || fill())) {
    const char* start = buffer_.data() + begin_;
    const void* stop = std::memchr(start, '\n', end_ - begin_);
    ended = stop != nullptr;
    bytes += ended ? static_cast<const char*>(stop) - start : static_cast<std::ptrdiff_t>(end_ - begin_);
    begin_ = end_;
  }
  if (bytes > kMostBytes)
    fail(name_, ':', line_number_ + 1, ": longer than ", kMostBytes, " bytes: is it text?");
  fail(name_, ':', line_number_ + 1, ": ", bytes, " bytes, wanted a line of at most ", max_bytes_,
       " (--max-line)");
}

bool LineReader::next(std::string& line) {
  if (!read_raw(line)) return false;
  ++line_number_;
  if (line_number_ == 1 && mark_ == ByteOrderMark::drop && line.starts_with(kByteOrderMark))
    line.erase(0, kByteOrderMark.size());
  if (line.ends_with('\r')) line.pop_back();
  clean(line);
  return true;
}

void LineReader::clean(std::string& line) const {
  if (std::size_t nul = line.find('\0'); nul != std::string::npos) {
    if (!replace_) {
      fail(name_, ':', line_number_, ':', nul + 1, ": NUL is not text: is this a text file?");
    }
    line = replace_all(line, std::string_view("\0", 1), kReplacement);
  }
  if (std::size_t bad = find_invalid_utf8(line); bad != std::string::npos) {
    if (!replace_) {
      fail(name_, ':', line_number_, ':', bad + 1, ": invalid UTF-8: is the text in another encoding?");
    }
    line = replace_invalid_utf8(line);
  }
}

std::vector<std::string> read_lines(const std::string& path, bool replace) {
  LineReader reader(path, replace);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

}  // namespace heed::text
