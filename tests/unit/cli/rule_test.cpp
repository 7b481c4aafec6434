#include "cli/rule.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;
using namespace heed::cli;

namespace {

auto says(const std::string& text) {
  return [text](const UsageError& error) {
    BOOST_TEST_MESSAGE(error.what());
    return error.what() == text;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rules)

BOOST_AUTO_TEST_CASE(numbers_are_read_whole_or_refused) {
  BOOST_CHECK_EQUAL(to_integer("--beam", "+12"), 12);
  BOOST_CHECK_EQUAL(to_integer("--beam", "-3"), -3);
  BOOST_CHECK_EQUAL(to_real("--rate", "2.5e-3"), 0.0025);
  BOOST_CHECK_EXCEPTION(to_integer("--beam", "3x"), UsageError, says("--beam: got '3x', wanted an integer"));
  BOOST_CHECK_EXCEPTION(
      to_integer("--seed", "99999999999999999999"), UsageError,
      says("--seed: got '99999999999999999999', wanted an integer from -9223372036854775808 to "
           "9223372036854775807"));
  for (const char* text : {"", "1.5", "99999999999999999999", " 1", "+-1"}) {
    BOOST_CHECK_THROW(to_integer("--beam", text), UsageError);
  }
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "0,5", "x"}) {
    BOOST_CHECK_THROW(to_real("--rate", text), UsageError);
  }
}

BOOST_AUTO_TEST_CASE(ranges_include_what_they_say) {
  BOOST_CHECK_NO_THROW(check(at_least(1), "--n", "1", 1));
  BOOST_CHECK_EXCEPTION(check(at_least(1), "--n", "0", 0), UsageError,
                        says("--n: got '0', wanted a number of at least 1"));
  BOOST_CHECK_THROW(check(above(0), "--n", "0", 0), UsageError);
  BOOST_CHECK_NO_THROW(check(between(0, 0.5), "--n", "0.5", 0.5));
  BOOST_CHECK_THROW(check(between(0, 0.5), "--n", "0.6", 0.6), UsageError);
}

BOOST_AUTO_TEST_CASE(choices_are_listed) {
  Rule rule = one_of({"text", "h5", "tsv"});
  BOOST_CHECK_NO_THROW(check(rule, "--format", "tsv"));
  BOOST_CHECK_EXCEPTION(check(rule, "--format", "H5\n"), UsageError,
                        says("--format: got 'H5\\n', wanted text, h5 or tsv"));
}

BOOST_AUTO_TEST_SUITE_END()
