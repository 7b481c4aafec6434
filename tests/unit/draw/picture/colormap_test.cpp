#include "draw/picture/colormap.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "draw/select/value_range.h"

using namespace heed;
using namespace heed::draw;

BOOST_AUTO_TEST_CASE(viridis_has_its_published_ends_and_middle) {
  const Colormap& map = Colormap::named("viridis");
  BOOST_TEST((map.at(0) == Rgb{0x44, 0x01, 0x54}));
  BOOST_TEST((map.at(1) == Rgb{0xfd, 0xe7, 0x25}));
  BOOST_TEST((map.at(128 / 255.0) == Rgb{0x21, 0x91, 0x8c}));
}

BOOST_AUTO_TEST_CASE(values_outside_are_cut_and_nan_has_its_own_colour) {
  const Colormap& map = Colormap::named("magma");
  BOOST_TEST((map.at(-3) == map.at(0)));
  BOOST_TEST((map.at(7) == map.at(1)));
  BOOST_TEST((map.at(NAN) == Colormap::missing()));
}

BOOST_AUTO_TEST_CASE(brightness_of_the_sequential_maps_rises) {
  for (const char* name : {"viridis", "magma"}) {
    double last = -1;
    for (int i = 0; i <= 16; ++i) {
      const double now = luminance(Colormap::named(name).at(i / 16.0));
      BOOST_TEST(now > last);
      last = now;
    }
  }
}

BOOST_AUTO_TEST_CASE(unknown_maps_and_ranges_are_usage_errors) {
  BOOST_CHECK_THROW(Colormap::named("jet"), UsageError);
  for (const char* text : {"", "1", "1:", ":1", "1:0", "0:1:2", "a:b", "nan:1", "0:inf"}) {
    BOOST_CHECK_THROW(parse_range(text), UsageError);
  }
  BOOST_TEST(parse_range("-0.5:2").low == -0.5);
  BOOST_TEST(parse_range("-0.5:2").high == 2);
}

BOOST_AUTO_TEST_CASE(natural_ranges_suit_the_values) {
  BOOST_TEST(natural_range({0.1, 0.9}).low == 0);
  BOOST_TEST(natural_range({0.1, 0.9}).high == 1);
  BOOST_TEST(natural_range({-1, 3, NAN, INFINITY}).low == -3);
  BOOST_TEST(natural_range({-1, 3, NAN, INFINITY}).high == 3);
  BOOST_TEST(natural_range({5, 9}).low == 5);
  BOOST_TEST(natural_range({NAN}).high == 1);
  BOOST_TEST((Range{2, 4}).position(3) == 0.5);
  BOOST_TEST((Range{2, 2}).position(2) == 0.5);
  BOOST_TEST((Range{2, 4}).position(-INFINITY) == 0);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_and_inside) {
  BOOST_TEST(round_step(0.07) == 0.1, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(round_step(3) == 5);
  const auto ticks = ticks_of({0, 1});
  BOOST_TEST(ticks.size() == 6u);
  BOOST_TEST(ticks[1].text == "0.2");
  BOOST_TEST(ticks.back().text == "1");
  BOOST_TEST(ticks_of({3, 3}).size() == 2u);
}
