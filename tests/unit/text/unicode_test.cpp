#include "text/unicode.h"

#include <boost/test/unit_test.hpp>

using namespace heed::text;

namespace {

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(finds_bytes_that_are_not_utf8) {
  BOOST_TEST(find_invalid_utf8("plain, déjà, 中, 😀") == std::string::npos);
  BOOST_TEST(find_invalid_utf8("ab\xff") == 2u);
  BOOST_TEST(find_invalid_utf8("a\xc3") == 1u);             // cut off
  BOOST_TEST(find_invalid_utf8("\xc0\xaf") == 0u);          // overlong "/"
  BOOST_TEST(find_invalid_utf8("\xe0\x80\xaf") == 0u);      // overlong "/"
  BOOST_TEST(find_invalid_utf8("abc\xed\xa0\x80") == 3u);   // a surrogate
  BOOST_TEST(find_invalid_utf8("\xf4\x90\x80\x80") == 0u);  // above U+10FFFF
}

BOOST_AUTO_TEST_CASE(replaces_bytes_that_are_not_utf8) {
  BOOST_TEST(replace_invalid_utf8("a\xff\xc3z") == "a\uFFFD\uFFFDz");
  BOOST_TEST(replace_invalid_utf8("déjà") == "déjà");
}

BOOST_AUTO_TEST_CASE(composes) {
  BOOST_TEST(nfc("e\u0301") == "\u00e9");
  BOOST_TEST(nfc("\u1100\u1161\u11a8") == "\uac01");  // Hangul
  BOOST_TEST(nfc("q\u0323\u0307") == "q\u0323\u0307");
  BOOST_TEST(nfc("\ufb01") == "\ufb01");  // compatibility forms stay
}

BOOST_AUTO_TEST_CASE(splits_at_white_space_as_python_does) {
  BOOST_TEST(strings(split_white_space(" a\u00a0b\u3000\u2003c\x1c d\n")) ==
             (std::vector<std::string>{"a", "b", "c", "d"}));
  BOOST_TEST(strings(split_white_space("zero\u200bwidth")) == (std::vector<std::string>{"zero\u200bwidth"}));
  BOOST_TEST(split_white_space(" \t").empty());
}

BOOST_AUTO_TEST_CASE(splits_at_given_separators_only) {
  BOOST_TEST(strings(split_any("  a\u00a0b\tc d", " ")) == (std::vector<std::string>{"a\u00a0b\tc", "d"}));
}

BOOST_AUTO_TEST_CASE(lower_case_follows_python) {
  BOOST_TEST(to_lower("ÄÖ ẞ ǅ") == "äö ß ǆ");
  BOOST_TEST(to_lower("İI") == "i\u0307i");
  BOOST_TEST(to_lower("ΟΔΟΣ ΣΑΣ. Σ ΑΣ\u0301") == "οδος σας. σ ας\u0301");
  BOOST_TEST(to_lower("ΑΣ'Α") == "ασ'α");
}
