// Where the parts of a graph's picture lie: layered layout by Graphviz's dot engine.
#pragma once

#include <string>
#include <vector>

#include "draw/graph/graph.h"

namespace heed::draw {

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

}  // namespace heed::draw
