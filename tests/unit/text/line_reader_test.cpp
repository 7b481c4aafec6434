#include "text/line_reader.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

using heed::Error;
using heed::text::LineReader;
using heed::text::read_lines;
using Lines = std::vector<std::string>;

namespace {

/// A file that lives as long as the test.
class TextFile {
 public:
  explicit TextFile(const std::string& bytes) {
    std::string pattern = (std::filesystem::temp_directory_path() / "heed-lines-XXXXXX").string();
    int fd = ::mkstemp(pattern.data());
    BOOST_REQUIRE(fd >= 0);
    ::close(fd);
    path = pattern;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~TextFile() { std::filesystem::remove(path); }
  std::string path;
};

std::string error_of(const std::string& bytes) {
  TextFile file(bytes);
  try {
    read_lines(file.path);
  } catch (const Error& e) {
    return std::string(e.what()).substr(file.path.size());
  }
  return "no error";
}

}  // namespace

BOOST_AUTO_TEST_CASE(line_ends) {
  BOOST_TEST(read_lines(TextFile("a\nb\r\n\nc").path) == (Lines{"a", "b", "", "c"}));
  BOOST_TEST(read_lines(TextFile("a\rb\n").path) == (Lines{"a\rb"}));
  BOOST_TEST(read_lines(TextFile("").path).empty());
  BOOST_TEST(read_lines(TextFile("\n\n").path) == (Lines{"", ""}));
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_goes_at_the_start_only) {
  const TextFile file("\ufeffa\n\ufeffb\n");
  BOOST_TEST(read_lines(file.path) == (Lines{"a", "\ufeffb"}));
  LineReader keeping(file.path, false, LineReader::kMostBytes, heed::text::ByteOrderMark::keep);
  std::string line;
  BOOST_TEST(keeping.next(line));
  BOOST_TEST(line == "\ufeffa");
}

BOOST_AUTO_TEST_CASE(lines_longer_than_the_buffer_are_whole) {
  std::string longer(200'001, 'x');
  BOOST_TEST((read_lines(TextFile(longer + "\ny").path) == Lines{longer, "y"}));
}

BOOST_AUTO_TEST_CASE(bad_bytes_are_named_by_line_and_byte) {
  BOOST_TEST(error_of("good\nab\xff"
                      "c\n")
                 .starts_with(":2:3: invalid UTF-8"));
  BOOST_TEST(error_of(std::string("a\0b\n", 4)).starts_with(":1:2: NUL"));
}

BOOST_AUTO_TEST_CASE(bad_bytes_are_replaced_when_asked_for) {
  BOOST_TEST(read_lines(TextFile(std::string("a\0b\xff\n", 5)).path, true) == (Lines{"a\uFFFDb\uFFFD"}));
}

BOOST_AUTO_TEST_CASE(a_line_may_be_as_long_as_it_is_allowed_to) {
  const TextFile file("short\n" + std::string(100'000, 'x') + "\nshort\n");
  std::string line;
  LineReader wide(file.path, false, 100'000);
  while (wide.next(line)) {
  }
  BOOST_TEST(wide.line_number() == 3);
  LineReader narrow(file.path, false, 99'999);
  BOOST_TEST(narrow.next(line));
  BOOST_CHECK_EXCEPTION(narrow.next(line), Error, [&](const Error& e) {
    return std::string(e.what()).substr(file.path.size()) ==
           ":2: 100000 bytes, wanted a line of at most 99999 (--max-line)";
  });
}

BOOST_AUTO_TEST_CASE(signals_lose_no_byte_of_slow_text) {
  struct sigaction ring {
  }, old{};
  ring.sa_handler = [](int) {};  // without SA_RESTART, so that a read is interrupted
  sigaction(SIGALRM, &ring, &old);
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    for (int i = 0; i < 20; ++i) {
      ::usleep(10'000);
      if (::write(ends[1], "a line\n", 7) != 7) ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  Lines lines;
  BOOST_CHECK_NO_THROW(lines = read_lines("/dev/fd/" + std::to_string(ends[0])));
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  ::close(ends[0]);
  ::waitpid(writer, nullptr, 0);
  BOOST_TEST((lines == Lines(20, "a line")));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_an_error) {
  BOOST_CHECK_THROW(read_lines("/nonexistent/text"), Error);
  BOOST_CHECK_THROW(read_lines(std::filesystem::temp_directory_path().string()), Error);
}
