#include "draw/chart/chart.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/column_table.h"
#include "support/temporary_folder.h"

using namespace heed;
using namespace heed::draw;

namespace {

Chart curve(std::vector<double> x, std::vector<double> y) {
  Chart chart;
  chart.series.push_back({"a", std::move(x), std::move(y)});
  return chart;
}

Chart bars() {
  Chart chart;
  chart.groups = {"short", "long"};
  chart.series.push_back({"one", {}, {4, 2}, 0});
  chart.series.push_back({"two", {}, {3, NAN}, 1});
  return chart;
}

ColumnTable table_of(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "table.tsv";
  std::ofstream(path) << text;
  return read_columns(path, "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_lie_where_the_axes_say) {
  const ChartLayout layout = lay_out(curve({0, 5, 10}, {0, 10, 5}));
  const Point first = layout.place(0, 0), middle = layout.place(5, 10);
  BOOST_TEST(first.x == layout.plot.x);
  BOOST_TEST(first.y == layout.plot.y + layout.plot.height);
  BOOST_TEST(middle.x == layout.plot.x + layout.plot.width / 2);
  BOOST_TEST(middle.y == layout.plot.y);
}

BOOST_AUTO_TEST_CASE(logarithmic_axes_space_factors_evenly) {
  Chart chart = curve({1, 10, 100}, {0.001, 0.1, 10});
  chart.log_x = chart.log_y = true;
  const ChartScale x = x_scale(chart), y = y_scale(chart);
  BOOST_CHECK_CLOSE(x.position(10), 0.5, 1e-9);
  BOOST_CHECK_CLOSE(y.position(0.1), 0.5, 1e-9);
  BOOST_TEST(std::isnan(y.position(0)));
  BOOST_TEST(std::isnan(y.position(-1)));
  std::string ticks;
  for (const Tick& tick : y.ticks()) ticks += tick.text + " ";
  BOOST_TEST(ticks == "0.001 0.01 0.1 1 10 ");
}

BOOST_AUTO_TEST_CASE(few_decades_get_more_ticks) {
  std::string texts;
  for (const Tick& tick : log_ticks_of({100, 3000})) texts += tick.text + " ";
  BOOST_TEST(texts == "100 200 500 1000 2000 ");
  BOOST_TEST(log_ticks_of({31, 33}).size() >= 2u);
}

BOOST_AUTO_TEST_CASE(round_ranges_contain_what_they_round) {
  for (const Range range : {Range{1.73, 7.61}, Range{-0.03, 0.0008}, Range{5, 5}, Range{0, 0}}) {
    const Range round = round_range(range);
    BOOST_TEST(round.low <= range.low);
    BOOST_TEST(round.high >= range.high);
    BOOST_TEST(round.high > round.low);
    BOOST_TEST(round.high - round.low <= std::max(2 * (range.high - range.low), 2.0));
  }
}

BOOST_AUTO_TEST_CASE(bars_stand_on_zero_and_grow_with_their_values) {
  const Chart chart = bars();
  const ChartLayout layout = lay_out(chart);
  const Rect four = layout.bar(chart, 0, 0), three = layout.bar(chart, 1, 0), two = layout.bar(chart, 0, 1);
  const double bottom = layout.plot.y + layout.plot.height;
  for (const Rect& bar : {four, three, two}) BOOST_CHECK_CLOSE(bar.y + bar.height, bottom, 1e-9);
  BOOST_CHECK_CLOSE(four.height, 2 * two.height, 1e-9);
  BOOST_CHECK_CLOSE(four.height * 3, 4 * three.height, 1e-9);
  BOOST_TEST(four.x + four.width <= three.x);
  BOOST_TEST(three.x + three.width < two.x);
  BOOST_TEST(draw_chart(chart, PictureFormat::pdf).starts_with("%PDF-"));
}

BOOST_AUTO_TEST_CASE(negative_bars_hang) {
  Chart chart = bars();
  chart.series[0].y = {4, -4};
  const ChartLayout layout = lay_out(chart);
  const Rect up = layout.bar(chart, 0, 0), down = layout.bar(chart, 0, 1);
  BOOST_CHECK_CLOSE(up.y + up.height, down.y, 1e-9);
  BOOST_CHECK_CLOSE(up.height, down.height, 1e-9);
}

BOOST_AUTO_TEST_CASE(charts_without_values_are_refused) {
  BOOST_CHECK_THROW(draw_chart(curve({1}, {NAN}), PictureFormat::svg), Error);
  Chart chart = curve({1, 2}, {-1, 0});
  chart.log_y = true;
  BOOST_CHECK_THROW(draw_on_terminal(chart, Terminal{}), Error);
  Chart uneven = bars();
  uneven.series[0].y.pop_back();
  BOOST_CHECK_THROW(lay_out(uneven), Error);
}

BOOST_AUTO_TEST_CASE(terminal_lines_fit_their_window) {
  for (int width : {20, 40, 80}) {
    Chart long_bars = bars();
    long_bars.groups = {"a long name", "another long name"};
    long_bars.series[0].name = "also a long one";
    long_bars.series[0].y[0] = 0.00012345;
    for (const Chart& chart : {curve({0, 1e6}, {0.0001, 12345}), long_bars}) {
      const std::string text = draw_on_terminal(chart, Terminal{width, 12});
      std::size_t start = 0;
      for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
        BOOST_TEST(display_width(text.substr(start, end - start)) <= width);
      }
      BOOST_TEST(start == text.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rising_line_rises_on_the_terminal) {
  const std::string text = draw_on_terminal(curve({0, 1}, {0, 1}), Terminal{40, 20});
  const std::size_t first = text.find("*", text.find('\n')), last = text.rfind('*');
  const auto column = [&](std::size_t at) { return at - text.rfind('\n', at); };
  BOOST_TEST(column(first) > column(last));
}

BOOST_AUTO_TEST_CASE(text_tables_are_read) {
  const ColumnTable table = table_of("# a comment\nname\tx\ty\nshort\t1\t-\nlong one\t2e3\t-0.5\n");
  BOOST_TEST(table.rows() == 2u);
  BOOST_TEST(!table.at("name").is_numeric);
  BOOST_TEST(table.at("x").values[1] == 2000);
  BOOST_TEST(table.at("y").is_numeric);
  BOOST_TEST(std::isnan(table.at("y").values[0]));
  BOOST_CHECK_THROW(table.at("z"), Error);
  BOOST_CHECK_THROW(table_of("a\tb\n1\n"), Error);
  BOOST_CHECK_THROW(table_of("a\ta\n1\t2\n"), Error);
  BOOST_CHECK_THROW(table_of(""), Error);
}

BOOST_AUTO_TEST_CASE(tables_become_series) {
  const ColumnTable one = table_of("step\ttrain_loss\tvalid_loss\tvalid_bleu\n1\t5\t6\t-1\n2\t4\t5\t30\n");
  const Chart losses = curves_of({one}, {});
  BOOST_REQUIRE(losses.series.size() == 2u);
  BOOST_TEST(losses.series[1].name == "valid loss");
  BOOST_TEST(losses.y_title == "loss");
  BOOST_TEST(losses.x_title == "step");
  ChartOptions options;
  options.y = {"valid_bleu"};
  options.labels = {"first"};
  const Chart both = curves_of({one, one}, options);
  BOOST_REQUIRE(both.series.size() == 2u);
  BOOST_TEST(both.series[0].name == "first");
  BOOST_TEST(both.series[1].color == 1u);
  BOOST_TEST(std::isnan(both.series[0].y[0]));  // -1: no BLEU was computed
  options.y = {"nothing"};
  BOOST_CHECK_THROW(curves_of({one}, options), Error);
  const ColumnTable twice =
      table_of("epoch\tstep\tvalid_loss\n0\t5\t6\n0\t10\t5\n");  // validated twice in an epoch
  BOOST_TEST((curves_of({twice}, {}).series[0].x == std::vector<double>{5, 10}));
}

BOOST_AUTO_TEST_CASE(bars_of_two_tables_meet_by_name) {
  const ColumnTable one = table_of("length\tBLEU\n1-10\t40\n11-20\t30\n");
  const ColumnTable two = table_of("length\tBLEU\n11-20\t35\n21-30\t20\n");
  const Chart chart = bars_of({one, two}, {});
  BOOST_TEST(chart.groups.size() == 3u);
  BOOST_TEST(chart.series[0].y[1] == 30);
  BOOST_TEST(chart.series[1].y[1] == 35);
  BOOST_TEST(std::isnan(chart.series[0].y[2]));
  BOOST_TEST(std::isnan(chart.series[1].y[0]));
  BOOST_CHECK_THROW(bars_of({table_of("a\tb\nx\t1\nx\t2\n")}, {}), Error);
}
