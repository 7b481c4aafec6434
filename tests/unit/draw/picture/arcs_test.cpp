#include "draw/picture/arcs.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;
using namespace heed::draw;

namespace {

Arcs arcs_between(std::int64_t rows, std::int64_t columns) {
  Arcs arcs;
  arcs.map.rows = rows;
  arcs.map.columns = columns;
  arcs.map.panels.resize(1);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    arcs.map.panels[0].values.push_back(static_cast<double>(i) / static_cast<double>(rows * columns));
  }
  return arcs;
}

}  // namespace

BOOST_AUTO_TEST_CASE(arcs_are_those_above_the_threshold) {
  Arcs arcs = arcs_between(3, 4);
  arcs.threshold = 0.5;
  const auto list = arcs_of(arcs);
  BOOST_TEST(list.size() == 6u);
  for (std::size_t i = 1; i < list.size(); ++i) BOOST_TEST(list[i - 1].weight <= list[i].weight);
  arcs.pinned = {1};
  BOOST_TEST(arcs_of(arcs).size() == 2u);
  arcs.most = 1;
  BOOST_TEST(arcs_of(arcs).front().column == 3);
  arcs.in_line = true;
  BOOST_CHECK_THROW(lay_out(arcs), Error);
  BOOST_TEST(draw_arcs(arcs_between(5, 2), PictureFormat::png).starts_with("\x89PNG"));
}

BOOST_AUTO_TEST_CASE(several_heads_have_a_drawing_each) {
  Arcs one = arcs_between(3, 4), six = one;
  for (int head = 1; head < 6; ++head) six.map.panels.push_back(six.map.panels[0]);
  const ArcsLayout alone = lay_out(one), all = lay_out(six);
  BOOST_REQUIRE(all.drawings.size() == 6u);
  // Two rows of three, where no drawing overlaps another.
  const double width = alone.columns.front().x - alone.rows.front().x;
  BOOST_TEST(all.drawings[1].x > width);
  BOOST_TEST(all.drawings[2].x == 2 * all.drawings[1].x);
  BOOST_TEST(all.drawings[2].y == 0);
  BOOST_TEST(all.drawings[3].x == 0);
  BOOST_TEST(all.drawings[3].y > alone.columns.back().y - alone.columns.front().y);
  BOOST_TEST(all.size.width > alone.size.width + 2 * width);
  six.pinned = {1};  // few arcs: a colour for each head
  BOOST_TEST(lay_out(six).drawings[5].x == 0);
}
