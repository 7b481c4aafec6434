#include "draw/print/printable.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace heed::draw;

BOOST_AUTO_TEST_CASE(controls_overrides_and_bad_bytes_cannot_pass) {
  BOOST_TEST(printable("a\x1b[31mb") == "a\u241b[31mb");
  BOOST_TEST(printable("x\ny\tz") == "x\u240ay\u2409z");
  BOOST_TEST(printable("\x7f") == "\u2421");
  BOOST_TEST(printable("\u0085\u202e\u2066") == "\ufffd\ufffd\ufffd");
  BOOST_TEST(printable("ok\xff\xc3") == "ok\ufffd\ufffd");
  BOOST_TEST(printable(std::string_view("\0", 1)) == "\u2400");
}

BOOST_AUTO_TEST_CASE(long_labels_are_cut_between_characters) {
  BOOST_TEST(printable("abcdef", 4) == "abc\u2026");
  BOOST_TEST(printable("abcd", 4) == "abcd");
  BOOST_TEST(printable("e\u0301e\u0301e\u0301", 2) == "e\u0301\u2026");
}

BOOST_AUTO_TEST_CASE(widths_follow_the_terminal) {
  BOOST_TEST(display_width("chat") == 4);
  BOOST_TEST(display_width("\u732b") == 2);           // cat in Chinese
  BOOST_TEST(display_width("e\u0301te\u0301") == 3);  // combining marks
  BOOST_TEST(display_width("\u0928\u0940\u0924\u093f\u092f\u093e\u0901") ==
             6);  // three letters, three vowel signs, a mark
  BOOST_TEST(fit("\u732b\u732b", 3) == "\u732b\u2026");
  BOOST_TEST(fit("ab", 5) == "ab   ");
  BOOST_TEST(fit("ab", 5, true) == "   ab");
  BOOST_TEST(display_width(fit("\u732b\u732b\u732b", 4)) == 4);
  BOOST_TEST(graphemes("e\u0301a").size() == 2u);
}

BOOST_AUTO_TEST_CASE(tsv_fields_hold_no_separator) {
  BOOST_TEST(tsv_field("a\tb\nc\\d\r") == "a\\tb\\nc\\\\d\\r");
  BOOST_TEST(tsv_field("\x1b[0m\xff") == "\\x1b[0m\\xff");
  BOOST_TEST(tsv_field("\u00e9t\u00e9 \u732b") == "\u00e9t\u00e9 \u732b");
}

BOOST_AUTO_TEST_CASE(numbers_come_back) {
  BOOST_TEST(shortest(0.1f) == "0.1");
  BOOST_TEST(std::stof(shortest(1.0f / 3)) == 1.0f / 3);
  BOOST_TEST(std::stod(shortest(1.0 / 3)) == 1.0 / 3);
  BOOST_TEST(shortest(-INFINITY) == "-inf");
  BOOST_TEST(shortest(std::nanf("")) == "nan");
  BOOST_TEST(rounded(0.123456) == "0.1235");
  BOOST_TEST(rounded(12345.6) == "12346");
  BOOST_TEST(rounded(2.5, 2) == "2.5");
  BOOST_TEST(rounded(-0.0) == "0");
}
