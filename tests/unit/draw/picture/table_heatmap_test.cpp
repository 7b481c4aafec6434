#include "draw/picture/slice_heatmap.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;
using namespace heed::draw;

namespace {

ColumnTable table() {
  return {"restored.tsv",
          {{"word", {"the", "cat"}, {}, false},
           {"layer 0", {"1", "-2"}, {1, -2}, true},
           {"layer 1", {"3", "4"}, {3, 4}, true}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table_map)

BOOST_AUTO_TEST_CASE(rows_and_columns_keep_their_names) {
  const Heatmap map = heatmap_of_table(table(), {});
  BOOST_CHECK_EQUAL(map.rows, 2);
  BOOST_CHECK_EQUAL(map.columns, 2);
  BOOST_TEST(map.row_labels == (std::vector<std::string>{"the", "cat"}), boost::test_tools::per_element());
  BOOST_TEST(map.column_labels == (std::vector<std::string>{"layer 0", "layer 1"}),
             boost::test_tools::per_element());
  BOOST_TEST(map.panels.at(0).values == (std::vector<double>{1, 3, -2, 4}), boost::test_tools::per_element());
  BOOST_CHECK_EQUAL(map.row_axis, "word");
  BOOST_CHECK_EQUAL(map.column_axis + map.quantity + map.subtitle, "");
  FigureOptions named;
  named.title = "What brings it back";
  named.quantity = "log p regained";
  BOOST_CHECK_EQUAL(heatmap_of_table(table(), named).quantity, "log p regained");
  BOOST_CHECK_EQUAL(heatmap_of_table(table(), named).subtitle, "restored.tsv");
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused) {
  ColumnTable gap = table();
  gap.columns[2].values[1] = std::nan("");
  BOOST_CHECK_THROW(heatmap_of_table(gap, {}), Error);
  BOOST_CHECK_THROW(heatmap_of_table({"x.tsv", {{"word", {"a"}, {}, false}}}, {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
