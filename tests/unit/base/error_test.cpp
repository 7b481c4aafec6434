#include "base/error.h"

#include <boost/test/unit_test.hpp>

using namespace heed;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(escaped_text_cannot_steer_a_terminal) {
  BOOST_CHECK_EQUAL(escaped("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  BOOST_CHECK_EQUAL(escaped("\xc2\x9b"), "\\xc2\\x9b");  // the one-character form of ESC [
  BOOST_CHECK_EQUAL(escaped(std::string("a\0b", 3)), "a\\x00b");
}

BOOST_AUTO_TEST_CASE(escaped_text_keeps_utf8_and_shows_bytes_that_are_not) {
  std::string words = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  BOOST_CHECK_EQUAL(escaped(words), words);
  BOOST_CHECK_EQUAL(escaped("\xff\xc3"), "\\xff\\xc3");                    // never a start; cut short
  BOOST_CHECK_EQUAL(escaped("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  BOOST_CHECK_EQUAL(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  BOOST_CHECK_EQUAL(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

BOOST_AUTO_TEST_CASE(escaped_text_is_cut_between_characters) {
  BOOST_CHECK_EQUAL(escaped("abcdef", 3), "abc...");
  BOOST_CHECK_EQUAL(escaped("abc", 3), "abc");
  BOOST_CHECK_EQUAL(escaped("ab\xc3\xa9z", 3), "ab\xc3\xa9...");
}

BOOST_AUTO_TEST_CASE(escaping_twice_changes_nothing) {
  std::string once = escaped("a\x1b\xff\n\\");
  BOOST_CHECK_EQUAL(escaped(once), once);
}

BOOST_AUTO_TEST_CASE(fail_throws_the_wanted_type) {
  BOOST_CHECK_THROW(fail<DivergedError>("step ", 7), DivergedError);
  BOOST_CHECK_EXCEPTION(fail("line ", 3, ": ", 2.5), Error,
                        [](const Error& e) { return std::string(e.what()) == "line 3: 2.5"; });
}

BOOST_AUTO_TEST_CASE(a_place_is_put_before_errors_except_those_of_usage) {
  const auto message = [](const auto& work) {
    try {
      return std::string(at_place([] { return "a.en:3"; }, work));
    } catch (const UsageError& error) {
      return concat("usage: ", error.what());
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  BOOST_CHECK_EQUAL(message([]() -> std::string { fail("wrong"); }), "a.en:3: wrong");
  BOOST_CHECK_EQUAL(message([]() -> std::string { fail<UsageError>("wrong"); }), "usage: wrong");
  BOOST_CHECK_EQUAL(message([] { return std::string("right"); }), "right");
  BOOST_CHECK_EQUAL(message([]() -> std::string { fail("a.en:3:7: wrong"); }), "a.en:3:7: wrong");
}

BOOST_AUTO_TEST_CASE(a_place_is_said_once) {
  BOOST_CHECK_EQUAL(placed("in.h5", "damaged"), "in.h5: damaged");
  BOOST_CHECK_EQUAL(placed("in.h5", "/tokens/ids is missing"), "in.h5:/tokens/ids is missing");
  BOOST_CHECK_EQUAL(placed("in.h5", "in.h5: damaged"), "in.h5: damaged");
  BOOST_CHECK_EQUAL(placed("in", "in.h5: damaged"), "in: in.h5: damaged");
  BOOST_CHECK_EQUAL(placed("gpt2", "gpt2/config.json: damaged"), "gpt2/config.json: damaged");
  BOOST_CHECK_EQUAL(placed("gpt2/", "gpt2/config.json: damaged"), "gpt2/config.json: damaged");
}

BOOST_AUTO_TEST_CASE(long_lists_are_cut) {
  BOOST_CHECK_EQUAL(listed({}), "");
  BOOST_CHECK_EQUAL(listed({"a", "b"}), "a, b");
  BOOST_CHECK_EQUAL(listed(std::vector<std::string>(12, "a")).size(), 34);
  BOOST_CHECK(listed(std::vector<std::string>(15, "a")).ends_with("a, a and 3 more"));
}

BOOST_AUTO_TEST_CASE(a_count_has_its_noun) {
  BOOST_CHECK_EQUAL(count_of(1, "line"), "1 line");
  BOOST_CHECK_EQUAL(count_of(0, "line"), "0 lines");
  BOOST_CHECK_EQUAL(count_of(12, "line"), "12 lines");
}

BOOST_AUTO_TEST_SUITE_END()
