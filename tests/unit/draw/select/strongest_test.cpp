#include "draw/select/statistics.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "draw/print/slice_text.h"
#include "unit/draw/support.h"

using namespace heed;
using namespace heed::draw;

BOOST_AUTO_TEST_CASE(the_strongest_come_first) {
  Slice slice{"a", Tensor::of<double>({1, 3, 3, NAN, -1, 0}, {2, 3}, {"query", "key"}), {}, {}};
  slice.axes = {{"query", 4, {}}, {"key", 0, {"a", "b", "c"}}};
  const auto rows = strongest(slice, 2);
  BOOST_REQUIRE(rows.size() == 2u);
  BOOST_TEST(rows[0].entries[0].index == 1);
  BOOST_TEST(rows[0].entries[1].index == 2);
  BOOST_TEST(rows[1].entries[0].index == 2);
  BOOST_TEST(rows[1].entries[1].index == 1);
  BOOST_TEST(strongest(slice, 9)[1].entries.size() == 2u);  // NaN is never among them
  BOOST_TEST(StrongestLines(1).add(slice) ==
             "query\tquery_label\tplace\tkey\tkey_label\tvalue\n4\t4\t0\t1\tb\t3\n5\t5\t0\t2\tc\t0\n");
}

BOOST_AUTO_TEST_CASE(the_strongest_of_n_best_lists_have_columns_of_different_names) {
  Slice slice{"a", Tensor::of<double>({1, 3}, {1, 2}, {"rank", "key"}), {}, {}};
  slice.axes = {{"rank", 0, {}}, {"key", 0, {}}};
  BOOST_TEST(StrongestLines(1).add(slice) ==
             "rank\trank_label\tplace\tkey\tkey_label\tvalue\n0\t0\t0\t1\t1\t3\n");
}

BOOST_AUTO_TEST_CASE(histograms_put_edges_where_they_belong) {
  const Histogram h = histogram({0, 0.1, 0.2, 0.3, 0.5, 1, NAN, INFINITY}, 10, std::nullopt);
  BOOST_TEST(h.counts == (std::vector<std::int64_t>{1, 1, 1, 1, 0, 1, 0, 0, 0, 1}));
  BOOST_TEST(histogram({2, 2}, 4, std::nullopt).counts[2] == 2);
  BOOST_CHECK_THROW(histogram({NAN}, 4, std::nullopt), Error);
}
