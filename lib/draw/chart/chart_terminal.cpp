// Charts in a terminal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "draw/chart/chart.h"
#include "draw/print/printable.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {
namespace {

constexpr std::string_view kMarks = "*o+x#@%&";
constexpr int kWidestName = 24;

/// A sheet of characters, each of 2 x 4 dots (Braille) or one mark. The last curve to touch a character
/// colours it.
class Dots {
 public:
  Dots(int columns, int rows, bool braille)
      : columns_(columns), rows_(rows), braille_(braille), cells_(static_cast<std::size_t>(columns * rows)) {}

  int width() const { return braille_ ? 2 * columns_ : columns_; }
  int height() const { return braille_ ? 4 * rows_ : rows_; }

  void set(int x, int y, std::size_t series) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    Cell& cell = cells_[static_cast<std::size_t>(braille_ ? y / 4 * columns_ + x / 2 : y * columns_ + x)];
    cell.series = series;
    // Braille numbers its dots down the columns, and the lowest row afterwards.
    static constexpr std::uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell.dots |= braille_ ? bits[y % 4][x % 2] : 1;
  }

  /// A straight line, ends included.
  void line(double x1, double y1, double x2, double y2, std::size_t series) {
    const double steps = std::ceil(std::max({std::fabs(x2 - x1), std::fabs(y2 - y1), 1.0}));
    for (double i = 0; i <= steps; ++i) {
      const double t = i / steps;
      set(static_cast<int>(std::lround(x1 + (x2 - x1) * t)),
          static_cast<int>(std::lround(y1 + (y2 - y1) * t)), series);
    }
  }

  std::string row(int row, const Chart& chart, ColorDepth depth) const {
    std::string line;
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (cell.dots == 0) {
        line += ' ';
      } else if (braille_) {
        line += colored(braille_character(cell.dots), series_color(chart.series[cell.series].color), depth);
      } else {
        line += kMarks[cell.series % kMarks.size()];
      }
    }
    trim_right(line);
    return line;
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;
    std::size_t series = 0;
  };

  static std::string braille_character(std::uint8_t dots) {  // U+2800 + dots
    return {'\xe2', static_cast<char>(0xa0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3f))};
  }

  int columns_, rows_;
  bool braille_;
  std::vector<Cell> cells_;
};

void plot(const Chart& chart, const ChartScale& x, const ChartScale& y, Dots& dots) {
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    double last_x = NAN, last_y = NAN;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double at_x = x.position(series.x[i]) * (dots.width() - 1);
      const double at_y = (1 - y.position(series.y[i])) * (dots.height() - 1);
      const bool shown = std::isfinite(at_x) && std::isfinite(at_y) && std::fabs(at_y) < 1e5;
      if (shown && std::isfinite(last_x)) {
        dots.line(last_x, last_y, at_x, at_y, s);
      } else if (shown) {
        dots.set(static_cast<int>(std::lround(at_x)), static_cast<int>(std::lround(at_y)), s);
      }
      last_x = shown ? at_x : NAN;
      last_y = at_y;
    }
  }
}

/// The texts of the ticks on the lines that they are nearest to.
std::vector<std::string> row_labels(const ChartScale& scale, int rows) {
  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  for (const Tick& tick : scale.ticks()) {
    const auto row = static_cast<std::size_t>(std::lround((1 - scale.position(tick.value)) * (rows - 1)));
    if (row < labels.size() && labels[row].empty()) labels[row] = tick.text;
  }
  return labels;
}

std::string column_ticks(const ChartScale& scale, int left, int columns) {
  std::string line(static_cast<std::size_t>(left), ' ');
  for (const Tick& tick : scale.ticks()) {
    const int middle = left + static_cast<int>(std::lround(scale.position(tick.value) * (columns - 1)));
    const int width = static_cast<int>(tick.text.size());
    const int start = std::clamp(middle - width / 2, 0, left + columns - width);
    if (start < 0 || (start != 0 && static_cast<int>(line.size()) >= start + (line.back() == ' ' ? 1 : 0) &&
                      line.find_last_not_of(' ') + 1 >= static_cast<std::size_t>(start))) {
      continue;  // would touch the one before
    }
    line.resize(static_cast<std::size_t>(start), ' ');
    line += tick.text;
  }
  trim_right(line);
  return line + "\n";
}

std::string legend(const Chart& chart, const Terminal& terminal) {
  std::string out, line;
  int used = 0;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::string name =
        fit(printable(chart.series[s].name),
            std::min(display_width(printable(chart.series[s].name)), terminal.width - 4));
    const int width = display_width(name) + 4;
    if (used > 0 && used + width > terminal.width) {
      trim_right(line);
      out += line + "\n";
      line.clear();
      used = 0;
    }
    const std::string mark = terminal.colors == ColorDepth::none ? std::string(1, kMarks[s % kMarks.size()])
                                                                 : std::string("\xe2\x96\xa0");
    line += colored(mark, series_color(chart.series[s].color), terminal.colors) + " " + name + "  ";
    used += width;
  }
  trim_right(line);
  return out + line + "\n";
}

std::string curves(const Chart& chart, const Terminal& terminal) {
  const int rows = std::clamp(terminal.height == 0 ? 16 : terminal.height - 7, 6, 32);
  const ChartScale x = x_scale(chart), y = y_scale(chart);
  const auto labels = row_labels(y, rows);
  const int left = widest(labels);
  const int columns = std::max(terminal.width - left - 2, 8);
  Dots dots(columns, rows, terminal.colors != ColorDepth::none);
  plot(chart, x, y, dots);
  std::string out = heading_lines(chart.title, chart.subtitle, terminal.width) + legend(chart, terminal);
  for (int row = 0; row < rows; ++row) {
    const std::string& label = labels[static_cast<std::size_t>(row)];
    out +=
        fit(label, left, true) + (label.empty() ? " |" : " +") + dots.row(row, chart, terminal.colors) + "\n";
  }
  out += std::string(static_cast<std::size_t>(left) + 1, ' ') + "+" +
         std::string(static_cast<std::size_t>(columns), '-') + "\n";
  out += column_ticks(x, left + 2, columns);
  const std::string below = printable(chart.x_title, 60);
  const int indent = std::max(0, left + 2 + (columns - display_width(below)) / 2);
  if (!below.empty())
    out += cut_line(std::string(static_cast<std::size_t>(indent), ' ') + below, terminal.width);
  return out;
}

// ---- bars ----

std::string bar_text(double from, double to, int room, ColorDepth depth) {
  const auto place = [&](double t) { return std::lround(std::clamp(t, 0.0, 1.0) * room); };
  const long start = place(std::min(from, to)), end = place(std::max(from, to));
  return std::string(static_cast<std::size_t>(start), ' ') + bar_of(static_cast<double>(end - start), depth);
}

std::string bars(const Chart& chart, const Terminal& terminal) {
  std::vector<std::string> groups, names, numbers;
  for (const auto& group : chart.groups) groups.push_back(printable(group));
  for (const auto& series : chart.series)
    names.push_back(chart.series.size() > 1 ? printable(series.name) : "");
  for (const auto& series : chart.series)
    for (double value : series.y) numbers.push_back(rounded(value));
  // In a narrow window the words leave room for the numbers and a bit of a bar.
  const int left = terminal.width - widest(numbers) - 3;
  const int most = std::min({kWidestName, terminal.width / 4, left / 2 - 1});
  const int group_width = std::min(widest(groups), most), name_width = std::min(widest(names), most);
  const ChartScale y = y_scale(chart);
  const int room = std::max(left - group_width - name_width, 1);
  const double zero = y.position(0);
  std::string out = heading_lines(chart.title, chart.subtitle, terminal.width);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t s = 0; s < names.size(); ++s) {
      const double value = chart.series[s].y[g];
      out += fit(s == 0 ? groups[g] : "", group_width) + " " + fit(names[s], name_width) +
             (name_width ? " " : "");
      if (std::isfinite(value)) {
        const std::string bar = bar_text(zero, y.position(value), room, terminal.colors);
        out += colored(bar, series_color(chart.series[s].color), terminal.colors) + " " + rounded(value);
      } else {
        out += "-";
      }
      out += "\n";
    }
  }
  if (!chart.y_title.empty()) out += cut_line("bars: " + printable(chart.y_title, 80), terminal.width);
  return out;
}

/// A bar for each bin, named by its lower edge.
Chart as_bars(const Chart& chart) {
  Chart bars = chart;
  bars.is_histogram = false;
  const auto& edges = chart.series.front().x;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) bars.groups.push_back(rounded(edges[i]) + " ..");
  return bars;
}

}  // namespace

std::string draw_on_terminal(const Chart& chart, const Terminal& terminal) {
  check(chart);
  if (chart.is_histogram) return bars(as_bars(chart), terminal);
  return chart.is_bars() ? bars(chart, terminal) : curves(chart, terminal);
}

}  // namespace heed::draw
