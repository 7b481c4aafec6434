#include "text/line_reader.h"

#include <unistd.h>
#include <boost/test/unit_test.hpp>

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
  BOOST_TEST(read_lines(TextFile("\ufeffa\n\ufeffb\n").path) == (Lines{"a", "\ufeffb"}));
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

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_an_error) {
  BOOST_CHECK_THROW(read_lines("/nonexistent/text"), Error);
  BOOST_CHECK_THROW(read_lines(std::filesystem::temp_directory_path().string()), Error);
}
