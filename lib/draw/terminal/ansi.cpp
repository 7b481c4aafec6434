#include "draw/terminal/ansi.h"

#include <algorithm>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

/// The nearest colour of the palette's 6 x 6 x 6 cube (16..231) or its 24 grays (232..255).
int palette_index(Rgb color) {
  constexpr int levels[] = {0, 95, 135, 175, 215, 255};
  auto nearest = [&](int c) { return c < 48 ? 0 : c < 115 ? 1 : (c - 35) / 40; };
  auto distance = [&](int r, int g, int b) {
    const int dr = r - color.red, dg = g - color.green, db = b - color.blue;
    return dr * dr + dg * dg + db * db;
  };
  const int r = nearest(color.red), g = nearest(color.green), b = nearest(color.blue);
  const int gray = std::clamp((color.red + color.green + color.blue) / 3 - 3, 0, 230) / 10;
  const int level = 8 + 10 * gray;
  if (distance(level, level, level) < distance(levels[r], levels[g], levels[b])) return 232 + gray;
  return 16 + 36 * r + 6 * g + b;
}

}  // namespace

std::string color_code(int part, Rgb color, ColorDepth depth) {
  if (depth == ColorDepth::none) return "";
  if (depth == ColorDepth::indexed) return concat("\x1b[", part, ";5;", palette_index(color), "m");
  return concat("\x1b[", part, ";2;", int{color.red}, ";", int{color.green}, ";", int{color.blue}, "m");
}

std::string colored(const std::string& text, Rgb color, ColorDepth depth) {
  if (depth == ColorDepth::none || text.empty()) return text;
  return color_code(38, color, depth).append(text).append(kReset);
}

void trim_right(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

std::string cut_line(const std::string& text, int width) {
  return (display_width(text) > width ? fit(text, width) : text) + "\n";
}

}  // namespace heed::draw
