// Heat maps in a terminal: a coloured cell per number with labels, or two numbers per character when the
// matrix is larger than the window; shades of ASCII where there is no colour.
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

/// The capabilities of stdout. `when` is auto, always or never; auto means colours on a terminal, subject to
/// NO_COLOR, TERM and COLORTERM. Throws UsageError for another word.
Terminal detect_terminal(const std::string& when);

/// The map as lines of text, none wider than the terminal. Numbers are written into the cells when
/// `write_values` is set and they fit. Matrices that do not fit are averaged over blocks; the last line then
/// says so.
std::string draw_on_terminal(const Heatmap& map, const Terminal& terminal);

}  // namespace heed::draw
