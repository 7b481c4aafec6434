#include "draw/terminal/terminal.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "base/error.h"
#include "draw/picture/arcs.h"
#include "draw/print/printable.h"

using namespace heed;
using namespace heed::draw;

namespace {

Heatmap matrix(std::int64_t rows, std::int64_t columns) {
  Heatmap map;
  map.rows = rows;
  map.columns = columns;
  map.quantity = "weight";
  map.panels.resize(1);
  const auto count = static_cast<double>(rows * columns - 1);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    map.panels[0].values.push_back(static_cast<double>(i) / count);
  return map;
}

std::string without_colors(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

int widest(const std::string& text) {
  int width = 0;
  for (const auto& line : lines(without_colors(text))) width = std::max(width, display_width(line));
  return width;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ascii_shades_go_from_light_to_dark) {
  Heatmap map = matrix(2, 3);
  map.row_labels = {"chat", "dort"};
  map.column_labels = {"the", "cat", "sleeps"};
  const auto out = lines(draw_on_terminal(map, {40, 0, ColorDepth::none}));
  BOOST_REQUIRE(out.size() == 4u);
  BOOST_TEST(out[0] == "     the    cat    sleeps");
  BOOST_TEST(out[1] == "chat        :::::::=======");
  BOOST_TEST(out[2].substr(0, 6) == "dort +");
  BOOST_TEST(out[2].substr(19) == "@@@@@@@");
  BOOST_TEST(out[3] == "0 [  ..::--==++**##%%@@] 1  weight");
}

BOOST_AUTO_TEST_CASE(ascii_leaves_zero_blank_and_tells_the_signs) {
  Heatmap map = matrix(1, 5);
  map.panels[0].values = {-1, -0.5, 0, 0.5, 1};
  map.range = {-1, 1};
  const auto out = lines(draw_on_terminal(map, {40, 0, ColorDepth::none}));
  BOOST_REQUIRE(out.size() == 3u);
  BOOST_TEST(out[1] == "0 000===   +++@@@");
  BOOST_TEST(out[2].substr(0, 5) == "-1 [0");
  BOOST_TEST(out[2].substr(23) == "@] 1  weight");
  map.panels[0].values = {-1, -1e-3, 0, 1e-3, 0.5};
  map.range = {-1, 0.5};
  BOOST_TEST(lines(draw_on_terminal(map, {40, 0, ColorDepth::none}))[1] == "0 000         @@@");
}

BOOST_AUTO_TEST_CASE(colours_are_those_of_the_map) {
  const std::string full = draw_on_terminal(matrix(2, 3), {40, 0, ColorDepth::full});
  BOOST_TEST(full.find("\x1b[48;2;68;1;84m") != std::string::npos);
  BOOST_TEST(full.find("\x1b[48;2;253;231;37m") != std::string::npos);
  const std::string indexed = draw_on_terminal(matrix(2, 3), {40, 0, ColorDepth::indexed});
  BOOST_TEST(indexed.find("\x1b[48;5;") != std::string::npos);
  BOOST_TEST(indexed.find(";2;") == std::string::npos);
  BOOST_TEST(draw_on_terminal(matrix(2, 3), {40, 0, ColorDepth::none}).find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_the_window) {
  for (int width : {20, 33, 80, 211}) {
    for (auto depth : {ColorDepth::none, ColorDepth::full}) {
      Heatmap map = matrix(7, 31);
      BOOST_TEST(widest(draw_on_terminal(map, {width, 24, depth})) <= width);
      map.row_labels.assign(7, "internationalisation");
      map.column_labels.assign(31, "\u732b\u732b");
      map.title = std::string(300, 't');
      BOOST_TEST(widest(draw_on_terminal(map, {width, 24, depth})) <= width);
    }
  }
}

BOOST_AUTO_TEST_CASE(tall_matrices_take_two_rows_per_line) {
  const auto out = lines(without_colors(draw_on_terminal(matrix(40, 12), {80, 30, ColorDepth::full})));
  BOOST_TEST(out.size() == 21u);
  BOOST_TEST(out[0].find("\u2580") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(large_matrices_are_averaged_and_say_so) {
  const std::string out = draw_on_terminal(matrix(300, 500), {80, 24, ColorDepth::none});
  BOOST_TEST(lines(out).size() <= 24u);
  BOOST_TEST(out.find("mean of 15 x 7 values") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(long_column_labels_are_written_downwards) {
  Heatmap map = matrix(2, 12);
  map.column_labels.assign(12, "abc");
  map.column_labels[1] = "agreement";
  const auto out = lines(draw_on_terminal(map, {40, 0, ColorDepth::none}));
  BOOST_TEST(out.size() == 9u + 2 + 1);
  BOOST_TEST(out[0].find('a') != std::string::npos);
  BOOST_TEST(out[8].find('t') != std::string::npos);
}

BOOST_AUTO_TEST_CASE(wide_letters_in_narrow_columns_give_way_to_positions) {
  Heatmap map = matrix(2, 12);
  map.column_labels.assign(12, "\u732b");
  const auto out = lines(draw_on_terminal(map, {20, 0, ColorDepth::none}));
  BOOST_TEST(out[1].ends_with("012345678901"));
}

BOOST_AUTO_TEST_CASE(arcs_fit_the_window) {
  Arcs arcs;
  arcs.map = matrix(3, 5);
  arcs.map.row_labels.assign(3, "\u732b\u732b\u732b");
  arcs.map.column_labels.assign(5, "internationalisation");
  for (int width : {20, 33, 80}) {
    for (auto depth : {ColorDepth::none, ColorDepth::full}) {
      BOOST_TEST(widest(draw_on_terminal(arcs, {width, 24, depth})) <= width);
    }
  }
}

BOOST_AUTO_TEST_CASE(labels_cannot_steer_the_terminal) {
  Heatmap map = matrix(1, 2);
  map.row_labels = {"\x1b[2J\x07"};
  map.title = "\x1b]0;owned\x07";
  BOOST_TEST(draw_on_terminal(map, {40, 0, ColorDepth::none}).find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(colour_words_are_checked) {
  BOOST_TEST((detect_terminal("never").colors == ColorDepth::none));
  BOOST_TEST((detect_terminal("always").colors != ColorDepth::none));
  BOOST_CHECK_THROW(detect_terminal("sometimes"), UsageError);
}
