#include "draw/select/merge_words.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "draw/picture/arcs.h"
#include "draw/graph/graph.h"
#include "draw/select/statistics.h"
#include "draw/select/strongest.h"
#include "support.h"

using namespace heed;
using namespace heed::draw;

namespace {

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const Word& word : words_of(pieces)) text += word.text + "(" + std::to_string(word.count) + ") ";
  return text;
}

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

BOOST_AUTO_TEST_CASE(pieces_become_words) {
  BOOST_TEST(joined({"\u2581the", "\u2581o", "ak", "\u2581.", "</s>"}) == "the(1) oak(2) .(1) </s>(1) ");
  BOOST_TEST(joined({"the", "o@@", "a@@", "k", "</s>"}) == "the(1) oak(3) </s>(1) ");
  BOOST_TEST(joined({"the", "oak"}) == "the(1) oak(1) ");
  BOOST_TEST(joined({"\u2581", "\u6a39", "\u2581", "a"}) == "\u6a39(2) a(2) ");  // characters
  BOOST_TEST(joined({"\u2581ch", "<0xC3>", "<0xAA>", "ne"}) == "ch\u00eane(4) ");
  BOOST_TEST(joined({"o@@", "<unk>", "k"}) == "o(1) <unk>(1) k(1) ");
  BOOST_TEST(joined({}) == "");
}

BOOST_AUTO_TEST_CASE(keys_add_up_and_queries_are_averaged) {
  Slice slice{"a", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}, {"query", "key"}), {}, {}};
  slice.axes = {{"query", 0, {"x@@", "y"}}, {"key", 0, {"a", "b@@", "c"}}};
  const Slice merged = merge_words(slice);
  BOOST_TEST(merged.values.shape() == (Shape{1, 2}));
  BOOST_TEST(merged.values.values<double>()[0] == 2.5);
  BOOST_TEST(merged.values.values<double>()[1] == 8);
  BOOST_TEST(merged.axes[1].labels == (std::vector<std::string>{"a", "bc"}));
}

BOOST_AUTO_TEST_CASE(labels_choose) {
  const auto cut = [](const std::string& label) {
    return take_slice(attention_map(), "attention/weights",
                      {parse_selection("sentence=0"), parse_selection("layer=0"), parse_selection("head=0"),
                       parse_selection("key=" + label)});
  };
  BOOST_TEST(cut("asleep").values.values<float>()[0] == 3);
  BOOST_CHECK_THROW(cut("dog"), Error);
  BOOST_CHECK_THROW(cut("=3"), Error);  // a label, not an index
  BOOST_CHECK_EXCEPTION(take_slice(attention_map(), "attention/weights", {parse_selection("key=cat")}), Error,
                        [](const Error& error) {
                          return std::string(error.what()).find("labels differ by sentence") !=
                                 std::string::npos;
                        });
}

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
             "query\tquery_label\trank\tkey\tkey_label\tvalue\n4\t4\t0\t1\tb\t3\n5\t5\t0\t2\tc\t0\n");
}

BOOST_AUTO_TEST_CASE(histograms_put_edges_where_they_belong) {
  const Histogram h = histogram({0, 0.1, 0.2, 0.3, 0.5, 1, NAN, INFINITY}, 10, std::nullopt);
  BOOST_TEST(h.counts == (std::vector<std::int64_t>{1, 1, 1, 1, 0, 1, 0, 0, 0, 1}));
  BOOST_TEST(histogram({2, 2}, 4, std::nullopt).counts[2] == 2);
  BOOST_CHECK_THROW(histogram({NAN}, 4, std::nullopt), Error);
}

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

BOOST_AUTO_TEST_CASE(boxes_do_not_overlap) {
  Graph graph;
  for (int lane = 0; lane < 2; ++lane) {
    for (int row = 0; row < 3; ++row)
      graph.add(lane, "a box with a title", Graph::Kind::linear, {"128 x 64", "bias"});
  }
  graph.connect(0, 2, Graph::Way::skip);
  const GraphLayout layout = lay_out(graph);
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Rect &a = layout.boxes[i], &b = layout.boxes[j];
      const bool apart =
          a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      BOOST_TEST(apart);
    }
    BOOST_TEST(layout.boxes[i].x + layout.boxes[i].width <= layout.size.width);
  }
  BOOST_TEST(layout.boxes[0].y > layout.boxes[1].y);  // computations go up
  BOOST_TEST(dot(graph).find("n0 -> n2 [color=blue];") != std::string::npos);
}
