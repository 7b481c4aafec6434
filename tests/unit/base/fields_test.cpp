#include "base/fields.h"

#include <boost/test/unit_test.hpp>

using namespace heed;

namespace {

struct Sizes {
  std::int64_t width = 8;
  double share = 0.5;
  std::string name = "any";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("width", self.width, "", up_to(1'000'000));
    field("share", self.share, "", heed::share());
    field("name", self.name, "", {"any", "none"});
  }
};

auto says(const std::string& text) {
  return [text](const UsageError& error) { return error.what() == text; };
}

}  // namespace

BOOST_AUTO_TEST_CASE(fields_are_checked_against_their_ranges) {
  Sizes sizes;
  BOOST_CHECK_NO_THROW(check_ranges(sizes));
  sizes.width = 0;
  BOOST_CHECK_EXCEPTION(check_ranges(sizes), UsageError, says("width is 0, wanted 1 to 1000000"));
  sizes = {};
  for (const double bad : {1.0, -0.1, std::nan("")}) {
    sizes.share = bad;
    BOOST_CHECK_THROW(check_ranges(sizes), UsageError);
  }
}

BOOST_AUTO_TEST_CASE(ranges_are_said_as_they_are) {
  BOOST_TEST(to_string(between(-1, 0.5)) == "-1 to 0.5");
  BOOST_TEST(to_string(at_least(0)) == "at least 0");
  BOOST_TEST(to_string(above_to(0, 1)) == "above 0, at most 1");
  BOOST_TEST(to_string(share()) == "at least 0, below 1");
  BOOST_TEST(number_in(up_to(9)) == "a number from 1 to 9");
  BOOST_TEST(number_in(at_least(1)) == "a number of at least 1");
  BOOST_TEST(number_in(above(0)) == "a number above 0");
  BOOST_TEST(Range{}.holds(1e308));
  BOOST_TEST(above(0).holds(1e-300));
  BOOST_TEST(!above(0).holds(0));
  BOOST_TEST(!share().holds(1));
}
