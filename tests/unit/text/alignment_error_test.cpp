#include "text/alignment_error.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;
using namespace heed::text;

namespace {

AlignmentScore compare(const std::string& links, const std::string& gold) {
  AlignmentError error;
  error.add(parse_links(links, "a:1"), parse_links(gold, "b:1"));
  return error.score();
}

}  // namespace

BOOST_AUTO_TEST_CASE(links_are_read_and_counted_once) {
  const Links links = parse_links(" 0-1 2p3\t2-3 4?5 0-1 ", "x:1");
  BOOST_TEST(links.size() == 3u);
  BOOST_TEST(links.at({2, 3}));
  BOOST_TEST(!links.at({4, 5}));
  for (const char* bad :
       {"0", "0-", "-1", "0:1", "0-1-2", "0--1", "a-b", "0-1.5", "99999999999999999999-0"}) {
    BOOST_CHECK_THROW(parse_links(bad, "x:1"), Error);
  }
}

BOOST_AUTO_TEST_CASE(error_rate_by_hand) {
  // A = 3 links, S = 2, P = 3; A n S = 1, A n P = 2.
  const AlignmentScore score = compare("0-0 1-1 2-3", "0-0 2-2 1p1");
  BOOST_CHECK_CLOSE(score.error, 100 * (1 - 3.0 / 5), 1e-9);
  BOOST_CHECK_CLOSE(score.precision, 200.0 / 3, 1e-9);
  BOOST_CHECK_CLOSE(score.recall, 50, 1e-9);
}

BOOST_AUTO_TEST_CASE(properties) {
  BOOST_TEST(compare("0-0 1-1", "0-0 1-1 2p2").error == 0);  // all sure ones, nothing impossible
  BOOST_TEST(compare("5-5", "0-0 1-1").error == 100);
  BOOST_TEST(compare("", "0-0").error == 100);
  BOOST_TEST(compare("", "0-0").precision == 0);
  BOOST_CHECK_THROW(compare("", "0p0"), Error);
}
