#include "text/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kHdf5 = "\x89HDF";

}  // namespace

LineReader::LineReader(const std::string& path, bool replace, std::int64_t max_bytes, ByteOrderMark mark)
    : LineReader(std::vector{path}, replace, max_bytes, mark) {}

LineReader::LineReader(std::vector<std::string> paths, bool replace, std::int64_t max_bytes,
                       ByteOrderMark mark)
    : paths_(std::move(paths)), replace_(replace), max_bytes_(max_bytes), mark_(mark), buffer_(kBufferBytes) {
  // A misspelt name is reported now, not after the files before it.
  for (const std::string& path : paths_)
    if (path != "-" && ::access(path.c_str(), R_OK) != 0)
      fail(escaped(path), ": cannot open: ", std::strerror(errno));
  open();
}

LineReader::~LineReader() {
  close();
}

void LineReader::close() {
  if (file_ > STDIN_FILENO) ::close(file_);
  file_ = -1;
}

std::string LineReader::place(std::int64_t further) const {
  return concat(name_, ':', (paths_[at_] == "-" ? line_number() : line_number_) + further);
}

void LineReader::open() {
  close();
  const std::string& path = paths_[at_];
  if (path == "-" && isatty(STDIN_FILENO) == 1)
    logging::note("reading from the terminal, Ctrl-D ends; wanted a pipe or a file? see " +
                  logging::program() + " --help");
  name_ = path == "-" ? "<stdin>" : path;
  line_number_ = 0;
  do {
    file_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (file_ < 0 && errno == EINTR);  // a pipe with a name waits for its writer
  if (file_ < 0) fail(escaped(path), ": cannot open: ", std::strerror(errno));
}

bool LineReader::fill() {
  begin_ = end_ = 0;
  for (;;) {
    const ssize_t got = ::read(file_, buffer_.data(), buffer_.size());
    if (got >= 0) {
      end_ = static_cast<std::size_t>(got);
      return got > 0;
    }
    if (errno == EAGAIN) {
      pollfd input{file_, POLLIN, 0};
      ::poll(&input, 1, -1);
    } else if (errno != EINTR) {
      fail(name_, ": cannot read: ", std::strerror(errno));
    }
  }
}

bool LineReader::has_arrived() const {
  if (std::memchr(buffer_.data() + begin_, '\n', end_ - begin_)) return true;
  pollfd input{file_, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
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

/// Counts the rest of the line after `bytes`, so that the message states the limit it would need.
void LineReader::refuse_long(std::int64_t bytes) {
  bool ended = false;
  while (!ended && bytes <= kMostBytes && (begin_ < end_ || fill())) {
    const char* start = buffer_.data() + begin_;
    const void* stop = std::memchr(start, '\n', end_ - begin_);
    ended = stop != nullptr;
    bytes += ended ? static_cast<const char*>(stop) - start : static_cast<std::ptrdiff_t>(end_ - begin_);
    begin_ = end_;
  }
  if (bytes > kMostBytes) fail(place(1), ": longer than ", kMostBytes, " bytes: is it text?");
  fail(place(1), ": ", bytes, " bytes, wanted a line of at most ", max_bytes_, " (--max-line)");
}

bool LineReader::next(std::string& line) {
  while (!read_raw(line)) {
    if (at_ + 1 == paths_.size()) return false;
    ++at_;
    open();
  }
  ++line_number_, ++lines_;
  if (line_number() == 1 && mark_ == ByteOrderMark::drop && line.starts_with(kByteOrderMark))
    line.erase(0, kByteOrderMark.size());
  if (line_number() == 1 && !replace_ && (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")))
    fail(place(), ": begins as UTF-16 does, wanted UTF-8: convert it, as iconv -f UTF-16 -t UTF-8 can");
  if (line.ends_with('\r')) line.pop_back();
  clean(line);
  return true;
}

void LineReader::clean(std::string& line) const {
  if (std::size_t nul = line.find('\0'); nul != std::string::npos) {
    if (!replace_) {
      fail(place(), ':', nul + 1, ": NUL is not text: is this a text file?");
    }
    line = replace_all(line, std::string_view("\0", 1), kReplacement);
  }
  if (std::size_t bad = find_invalid_utf8(line); bad != std::string::npos) {
    if (!replace_) {
      fail(place(), ':', bad + 1, ": invalid UTF-8: is the text in another encoding?");
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
