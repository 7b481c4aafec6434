// Graphs of computations: boxes in lanes, row 0 at the bottom as papers draw models, arrows for what flows
// where. The place of each box is given, so equal models give equal pictures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/picture.h"

namespace heed::draw {

struct Graph {
  enum class Kind { data, linear, attention, norm, recurrent, other };  ///< decides the colour
  struct Node {
    int lane = 0, row = 0;
    std::string title;
    std::vector<std::string> lines;  ///< shapes and sizes, below the title
    Kind kind = Kind::other;
  };
  enum class Way {
    straight,
    skip,
    back
  };  ///< skip: around the boxes between, in blue; back: dashed, for what the step before gives
  struct Edge {
    std::size_t from = 0, to = 0;
    Way way = Way::straight;
  };
  /// Boxes that come `count` times, one after the other.
  struct Plate {
    int lane = 0, first_row = 0, last_row = 0;
    std::string text;
  };

  std::string title, subtitle;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Plate> plates;

  /// Adds a box above all others of its lane, or in `row`; returns its number.
  std::size_t add(int lane, const std::string& title, Kind kind, std::vector<std::string> lines = {},
                  int row = -1);
  void connect(std::size_t from, std::size_t to, Way way = Way::straight);
  int top(int lane) const;  ///< the first free row
};

struct GraphLayout {
  Size size;
  std::vector<Rect> boxes;   ///< of the nodes
  std::vector<Rect> plates;  ///< likewise
};

GraphLayout lay_out(const Graph& graph);
std::string draw_graph(const Graph& graph, PictureFormat format);
/// The graph in Graphviz's language.
std::string dot(const Graph& graph);

}  // namespace heed::draw
