#include "draw/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

ColorDepth depth_from_environment() {
  const std::string truecolor = environment("COLORTERM");
  return truecolor == "truecolor" || truecolor == "24bit" ? ColorDepth::full : ColorDepth::indexed;
}

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

Terminal detect_terminal(const std::string& when) {
  if (when != "auto" && when != "always" && when != "never") {
    fail<UsageError>("--color '", escaped(when), "': wanted auto, always or never");
  }
  Terminal terminal;
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  winsize window{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    terminal.width = std::max<int>(window.ws_col, 20);
    terminal.height = std::max<int>(window.ws_row, 10);
  } else if (const int columns = std::atoi(environment("COLUMNS").c_str()); columns > 0) {
    terminal.width = std::clamp(columns, 20, 1000);
  }
  const std::string kind = environment("TERM");
  const bool able = is_terminal && environment("NO_COLOR").empty() && !kind.empty() && kind != "dumb";
  if (when == "always" || (when == "auto" && able)) terminal.colors = depth_from_environment();
  return terminal;
}

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

std::string heading_lines(const std::string& title, const std::string& subtitle, int width) {
  std::string out;
  for (const std::string& text : {title, subtitle}) {
    if (!text.empty()) out += cut_line(printable(text, 200), width);
  }
  return out;
}

std::string bar_of(double length, ColorDepth depth) {
  std::string bar;
  for (long i = std::lround(length); i > 0; --i) bar += depth == ColorDepth::none ? "#" : "\xe2\x96\x88";
  return bar;
}

int widest(const std::vector<std::string>& texts) {
  int width = 0;
  for (const auto& text : texts) width = std::max(width, display_width(text));
  return width;
}

}  // namespace heed::draw
