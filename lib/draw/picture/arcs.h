// Attention weights as arcs between words, thicker and darker for larger weights: either within one line of
// words (self-attention: arcs to earlier words above, to later ones below, a ring for a word's weight on
// itself), or from a column of queries to a column of keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/picture/heatmap.h"
#include "draw/picture/painter.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

struct Arcs {
  Heatmap map;                       ///< weights, words, titles
  bool in_line = false;              ///< a single line of words; rows and columns are the same words
  double threshold = 0;              ///< smaller weights are not drawn
  std::vector<std::int64_t> pinned;  ///< only these rows are drawn; empty: all
  std::int64_t most = 0;             ///< only this many largest weights of each row; 0: all
};

/// Whether several panels (heads) share one drawing with a colour each: with pinned rows, which leave few
/// arcs.
inline bool share_a_drawing(const Arcs& arcs) {
  return arcs.map.panels.size() == 1 || !arcs.pinned.empty();
}

/// A drawn weight.
struct Arc {
  std::size_t panel = 0;
  std::int64_t row = 0, column = 0;
  double weight = 0;
};

/// The drawn arcs by increasing weight, so that strong ones are on top.
std::vector<Arc> arcs_of(const Arcs& arcs);

/// The layout of the picture, in points.
struct ArcsLayout {
  Size size;
  std::vector<Point> rows,
      columns;                  ///< x where the arcs begin at queries and end at keys, in the first drawing
  double line_y = 0;            ///< vertical middle of its line of words
  std::vector<Point> drawings;  ///< offset of each panel's drawing from the first
  double caption_y = 0;         ///< of the first drawing
  Point legend;
};

ArcsLayout lay_out(const Arcs& arcs);

/// Throws Error if there is nothing to draw or more than 512 words.
std::string draw_arcs(const Arcs& arcs, PictureFormat format);
/// Each query with its strongest keys and their weights.
std::string draw_on_terminal(const Arcs& arcs, const Terminal& terminal);

}  // namespace heed::draw
