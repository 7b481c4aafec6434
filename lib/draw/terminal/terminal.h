// Heat maps in a terminal: a block of colour per number with the words beside it, or two numbers per
// character when the matrix is taller than the window; letters instead of colours where colour is not wanted.
#pragma once

#include <string>

#include "draw/picture/heatmap.h"

namespace heed::draw {

enum class ColorDepth {
  none,     ///< plain ASCII shades
  indexed,  ///< the 256-colour palette
  full,     ///< 24 bits
};

struct Terminal {
  int width = 80;
  int height = 0;  ///< lines a map may take; 0: any number (a file or a pager)
  ColorDepth colors = ColorDepth::none;
};

/// What standard output can show. `when` is auto, always or never; auto asks whether it is a terminal and
/// honours NO_COLOR, TERM and COLORTERM. Throws UsageError for another word.
Terminal detect_terminal(const std::string& when);

/// The map as lines of text, each ending in a newline and resetting the colours it set; no line is wider than
/// the terminal. Matrices that do not fit are averaged over blocks, and the last line says so.
std::string draw_on_terminal(const Heatmap& map, const Terminal& terminal);

}  // namespace heed::draw
