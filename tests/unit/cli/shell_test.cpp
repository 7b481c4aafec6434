#include <boost/test/unit_test.hpp>

#include "cli/tool.h"

using heed::cli::shell_quoted;

BOOST_AUTO_TEST_SUITE(shell)

BOOST_AUTO_TEST_CASE(words_are_quoted_only_where_needed) {
  BOOST_CHECK_EQUAL(shell_quoted({"decode", "--beam=5", "-o", "a/b_c.h5"}), "decode --beam=5 -o a/b_c.h5");
  BOOST_CHECK_EQUAL(shell_quoted({"x", "my file", "$HOME", ""}), "x 'my file' '$HOME' ''");
  BOOST_CHECK_EQUAL(shell_quoted({"it's"}), "'it'\\''s'");
}

BOOST_AUTO_TEST_CASE(control_characters_and_stray_bytes_become_octal) {
  BOOST_CHECK_EQUAL(shell_quoted({"a\n1"}), "$'a\\0121'");
  BOOST_CHECK_EQUAL(shell_quoted({"\xff'\\"}), "$'\\377\\'\\134'");
  BOOST_CHECK_EQUAL(shell_quoted({"caf\xc3\xa9"}), "'caf\xc3\xa9'");
}

BOOST_AUTO_TEST_SUITE_END()
