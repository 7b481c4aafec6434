// What the terminal can show; colours, bars and lines for it; heat maps on it; and following a growing file.
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
  int height = 0;  ///< lines a map may take; 0: any number (a file or a pager)
  ColorDepth colors = ColorDepth::none;
};

/// The capabilities of stdout. `when` is auto, always or never; auto means colours on a terminal, subject to
/// NO_COLOR, TERM and COLORTERM. Throws UsageError for another word.
Terminal detect_terminal(const std::string& when);

/// Escape sequence that sets the foreground (`part` 38) or background (48); empty without colours.
std::string color_code(int part, Rgb color, ColorDepth depth);
inline constexpr std::string_view kReset = "\x1b[0m";

/// `text` in a colour; as it is without colours.
std::string colored(const std::string& text, Rgb color, ColorDepth depth);

void trim_right(std::string& line);
/// `text` and a newline, cut to `width` columns.
std::string cut_line(const std::string& text, int width);
/// A title and a subtitle on lines of their own, where they are not empty.
std::string heading_lines(const std::string& title, const std::string& subtitle, int width);
/// A bar of so many columns, rounded.
std::string bar_of(double length, ColorDepth depth);
/// Columns of the widest text.
int widest(const std::vector<std::string>& texts);

/// The map as lines of text, none wider than the terminal. Numbers are written into the cells when
/// `write_values` is set and they fit. Matrices that do not fit are averaged over blocks; the last line then
/// says so.
std::string draw_on_terminal(const Heatmap& map, const Terminal& terminal);

/// Writes the lines of `draw` whenever the file at `path` or the window's size changes, in place when
/// stdout is a terminal. Returns when `stop` is true, or when the training that writes MODEL.metrics.tsv
/// has released MODEL.lock; a file of another name is followed until `stop`. Throws Error when there is no
/// such file and no training that will create it.
void follow(const std::string& path, const std::function<bool()>& stop,
            const std::function<std::string()>& draw);

}  // namespace heed::draw
