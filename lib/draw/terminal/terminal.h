// What the terminal supports; colours, bars and lines; heat maps as text; and following a growing file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/picture/heatmap.h"

namespace heed::draw {

enum class ColorDepth {
  none,     ///< plain ASCII shades
  indexed,  ///< the 256-colour palette
  full,     ///< 24 bits
};

struct Terminal {
  int width = 80;
  int height = 0;  ///< maximal number of lines of a map; 0: unlimited (a file or a pager)
  ColorDepth colors = ColorDepth::none;
};

/// The capabilities of stdout. `when` is auto, always or never; auto means colours on a terminal, subject to
/// NO_COLOR, TERM and COLORTERM. Throws UsageError for another word.
Terminal detect_terminal(const std::string& when);

/// Escape sequence that sets the foreground (`part` 38) or background (48); empty without colours.
std::string color_code(int part, Rgb color, ColorDepth depth);
inline constexpr std::string_view kReset = "\x1b[0m";

/// `text` in a colour; unchanged without colours.
std::string colored(const std::string& text, Rgb color, ColorDepth depth);

void trim_right(std::string& line);
/// `text` truncated to `width` columns, and a newline.
std::string cut_line(const std::string& text, int width);
/// A title and a subtitle on lines of their own, unless they are empty.
std::string heading_lines(const std::string& title, const std::string& subtitle, int width);
/// A bar of this many columns, rounded.
std::string bar_of(double length, ColorDepth depth);
/// The width of the widest text.
int widest(const std::vector<std::string>& texts);

/// The map as lines of text, none wider than the terminal. Numbers are printed in the cells if `write_values`
/// is set and they fit. Matrices that do not fit are averaged over blocks, which the last line then mentions.
std::string draw_on_terminal(const Heatmap& map, const Terminal& terminal);

/// Prints the lines of `draw` whenever the file at `path` or the window's size changes, in place if stdout is
/// a terminal. Returns when `stop` is true, or when the training that writes MODEL.metrics.tsv has released
/// MODEL.lock; a file with another name is followed until `stop`. Throws Error if there is no such file and
/// no training that will create it.
void follow(const std::string& path, const std::function<bool()>& stop,
            const std::function<std::string()>& draw);

}  // namespace heed::draw
