// Colours and lines for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "draw/terminal/terminal.h"

namespace heed::draw {

/// Escape sequence that sets the foreground (`part` 38) or background (48); empty without colours.
std::string color_code(int part, Rgb color, ColorDepth depth);
inline constexpr std::string_view kReset = "\x1b[0m";

/// `text` in a colour; as it is without colours.
std::string colored(const std::string& text, Rgb color, ColorDepth depth);

void trim_right(std::string& line);
/// `text` and a newline, cut to `width` columns.
std::string cut_line(const std::string& text, int width);

}  // namespace heed::draw
