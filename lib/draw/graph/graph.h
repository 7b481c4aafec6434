// Graphs of computations: a box for each value and operation, arrows for the data flow, drawn bottom-up as in
// papers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/picture/painter.h"

namespace heed::draw {

struct Graph {
  enum class Kind { data, linear, attention, norm, recurrent, other };  ///< decides the colour (kStyles)
  struct Node {
    std::string title;
    std::vector<std::string> lines;  ///< shapes and sizes, below the title
    Kind kind = Kind::other;
  };
  enum class Flow {
    forward,
    skip,      ///< around a sublayer: blue
    recurrent  ///< a value of the previous step: dashed
  };
  struct Edge {
    std::size_t from = 0, to = 0;
    Flow flow = Flow::forward;
  };
  /// A frame around the nodes [first, end), which the model repeats: "× 6".
  struct Plate {
    std::size_t first = 0, end = 0;
    std::string text;
  };

  std::string title, subtitle;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Plate> plates;
  std::vector<std::size_t>
      inputs;  ///< nodes placed side by side at the bottom; others are placed by their use

  /// Adds a node computed from the nodes `from`, the main one first; returns its number. Empty lines are
  /// dropped.
  std::size_t add(const std::string& title, Kind kind, std::vector<std::string> lines = {},
                  const std::vector<std::size_t>& from = {});
  void connect(std::size_t from, std::size_t to, Flow flow = Flow::forward);
};

/// The coordinates of a graph's picture: layered layout by Graphviz's dot engine.
struct GraphLayout {
  /// Bézier pieces: a start point, then three points (two control points and an end) per piece.
  struct Curve {
    std::vector<Point> points;
    Point tip;  ///< of the arrowhead, whose base is the last point
  };
  Size size;
  std::vector<Rect> boxes;         ///< one per node
  std::vector<Rect> plates;        ///< one per plate
  std::vector<Point> plate_texts;  ///< the middle of each plate's text
  std::vector<Curve> curves;       ///< one per edge
};

/// Lays `graph` out in points, y downwards, the corner at (0, 0). `boxes` are the sizes of the nodes, one
/// each. Equal graphs give equal layouts. Throws Error when Graphviz cannot lay the graph out.
GraphLayout lay_out(const Graph& graph, const std::vector<Size>& boxes);

/// The picture. Throws Error for a graph without nodes.
std::string draw_graph(const Graph& graph, PictureFormat format);

/// The graph in the DOT language, which is also the input of the layout.
std::string dot(const Graph& graph);

}  // namespace heed::draw
