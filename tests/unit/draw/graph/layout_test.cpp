#include "draw/graph/graph.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;
using namespace heed::draw;

namespace {

/// Two stacks of three nodes, a skip around the middle of the first, which is in a plate.
Graph two_stacks() {
  Graph graph;
  for (int stack = 0; stack < 2; ++stack) {
    auto node = graph.add("input", Graph::Kind::data);
    for (int i = 0; i < 2; ++i) node = graph.add("linear", Graph::Kind::linear, {"128 x 64"}, {node});
  }
  graph.connect(0, 2, Graph::Flow::skip);
  graph.connect(5, 1, Graph::Flow::recurrent);
  graph.plates.push_back({1, 2, "x 6"});
  return graph;
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

}  // namespace

BOOST_AUTO_TEST_CASE(boxes_do_not_overlap) {
  const Graph graph = two_stacks();
  const GraphLayout layout = lay_out(graph, std::vector<Size>(6, {96, 30}));
  BOOST_TEST_REQUIRE(layout.boxes.size() == 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const Rect& box = layout.boxes[i];
    for (std::size_t j = 0; j < i; ++j) BOOST_TEST(!overlap(box, layout.boxes[j]));
    BOOST_TEST(box.x > -0.01);
    BOOST_TEST(box.x + box.width < layout.size.width + 0.01);
    BOOST_TEST(box.y > -0.01);
    BOOST_TEST(box.y + box.height < layout.size.height + 0.01);
    BOOST_TEST(overlap(layout.plates[0], box) == (i == 1));
  }
  BOOST_TEST(layout.boxes[0].y > layout.boxes[1].y);  // computations go up
  BOOST_TEST(layout.boxes[1].y > layout.boxes[2].y);
}

BOOST_AUTO_TEST_CASE(arrows_run_from_box_to_box_around_the_others) {
  const Graph graph = two_stacks();
  const GraphLayout layout = lay_out(graph, std::vector<Size>(6, {96, 30}));
  const auto distance = [](const Rect& box, Point p) {  // 0 inside
    return std::max({box.x - p.x, p.x - box.x - box.width, box.y - p.y, p.y - box.y - box.height, 0.0});
  };
  BOOST_TEST_REQUIRE(layout.curves.size() == graph.edges.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto& [points, tip] = layout.curves[i];
    BOOST_TEST(points.size() % 3 == 1u);
    BOOST_TEST(distance(layout.boxes[graph.edges[i].from], points.front()) < 1);
    BOOST_TEST(distance(layout.boxes[graph.edges[i].to], tip) < 1);
    for (std::size_t box = 0; box < 6; ++box) {
      if (box == graph.edges[i].from || box == graph.edges[i].to) continue;
      for (std::size_t p = 0; p < points.size(); p += 3)
        BOOST_TEST(distance(layout.boxes[box], points[p]) > 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(equal_graphs_give_equal_pictures) {
  const std::string picture = draw_graph(two_stacks(), PictureFormat::svg);
  const bool equal =
      draw_graph(two_stacks(), PictureFormat::png) == draw_graph(two_stacks(), PictureFormat::png);
  BOOST_TEST(equal);
  BOOST_TEST(picture.find("linear") != std::string::npos);
  BOOST_CHECK_THROW(draw_graph({}, PictureFormat::svg), Error);
}

BOOST_AUTO_TEST_CASE(dot_has_nodes_edges_and_plates) {
  const std::string text = dot(two_stacks());
  BOOST_TEST(text.find("n1 [label=\"linear; 128 x 64\"];") != std::string::npos);
  BOOST_TEST(text.find("n0 -> n2 [color=blue, weight=0];") != std::string::npos);
  BOOST_TEST(text.find("n5 -> n1 [style=dashed, constraint=false];") != std::string::npos);
  BOOST_TEST(text.find("subgraph cluster_0 { label=\"x 6\"; labelloc=b; labeljust=r; fontsize=11; n1; }") !=
             std::string::npos);
}
