// Heat maps in a terminal: a coloured cell per number with labels, or two numbers per character when the
// matrix is larger than the window; shades of ASCII where there is no colour.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {
namespace {

constexpr std::string_view kShades = " .:-=+*#%@";
// Where there are both signs, zero is blank.
constexpr std::string_view kPositive = " .:+*#@", kNegative = " '-=oO0";
constexpr int kWidestLabel = 20;
constexpr int kTallestLabel = 12;
constexpr int kWidestCell = 12;

char shade_of(std::string_view shades, double share) {
  const double t = std::clamp(share, 0.0, 1.0) * static_cast<double>(shades.size() - 1);
  return shades[static_cast<std::size_t>(std::lround(t))];
}

/// `position` within the range, from 0 to 1.
char shade(const Range& range, double position) {
  if (std::isnan(position)) return '?';
  if (range.low >= 0 || range.high <= 0) return shade_of(kShades, position);
  const double zero = range.position(0);
  return position >= zero ? shade_of(kPositive, (position - zero) / (1 - zero))
                          : shade_of(kNegative, (zero - position) / zero);
}

// ---- large matrices ----

/// A matrix averaged over blocks of `down` x `across` values.
struct Grid {
  std::int64_t rows = 0, columns = 0;
  std::int64_t down = 1, across = 1;
  std::vector<double> values;

  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

std::int64_t parts(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

double block_mean(const Heatmap& map, std::size_t panel, const Grid& grid, std::int64_t row,
                  std::int64_t column) {
  double sum = 0;
  std::int64_t n = 0;
  for (std::int64_t r = row * grid.down; r < std::min((row + 1) * grid.down, map.rows); ++r) {
    for (std::int64_t c = column * grid.across; c < std::min((column + 1) * grid.across, map.columns);
         ++c, ++n) {
      sum += map.value(panel, r, c);
    }
  }
  return sum / static_cast<double>(n);
}

Grid shrink(const Heatmap& map, std::size_t panel, std::int64_t most_rows, std::int64_t most_columns) {
  Grid grid;
  grid.down = parts(map.rows, std::max<std::int64_t>(most_rows, 1));
  grid.across = parts(map.columns, std::max<std::int64_t>(most_columns, 1));
  grid.rows = parts(map.rows, grid.down);
  grid.columns = parts(map.columns, grid.across);
  for (std::int64_t r = 0; r < grid.rows; ++r) {
    for (std::int64_t c = 0; c < grid.columns; ++c) grid.values.push_back(block_mean(map, panel, grid, r, c));
  }
  return grid;
}

// ---- one line per row ----

std::vector<std::string> row_labels(const Heatmap& map) {
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < map.rows; ++i) labels.push_back(map.row_name(i, kWidestLabel));
  return labels;
}

/// The columns' words, or positions where there are none or a letter is wider than `cell` (CJK in single
/// columns).
std::vector<std::string> column_labels(const Heatmap& map, int cell) {
  std::vector<std::string> labels, positions;
  bool fits = true;
  for (std::int64_t i = 0; i < map.columns; ++i) {
    labels.push_back(map.column_name(i, kWidestLabel));
    positions.push_back(std::to_string(map.first_column + i));
    fits &= widest(graphemes(labels.back())) <= cell;
  }
  return fits ? labels : positions;
}

/// Vertical labels, one character per line, ending just above their columns.
std::string upright_labels(const std::vector<std::string>& labels, int left, int cell) {
  std::vector<std::vector<std::string>> letters;
  std::size_t height = 0;
  for (const auto& label : labels) {
    letters.push_back(graphemes(label));
    if (letters.back().size() > kTallestLabel) {
      letters.back().resize(kTallestLabel - 1);
      letters.back().push_back("\xe2\x80\xa6");
    }
    height = std::max(height, letters.back().size());
  }
  const std::string indent(static_cast<std::size_t>(cell - 1) / 2, ' ');  // above the middle of the cell
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    std::string text(static_cast<std::size_t>(left), ' ');
    for (const auto& column : letters) {
      const std::size_t above = height - column.size();
      text += fit(indent + (line < above ? "" : column[line - above]), cell);
    }
    trim_right(text);
    out += text + "\n";
  }
  return out;
}

std::string level_labels(const std::vector<std::string>& labels, int left, int cell) {
  std::string text(static_cast<std::size_t>(left), ' ');
  for (const auto& label : labels) text += fit(label, cell);
  trim_right(text);
  return text + "\n";
}

/// Columns for the numbers in their cells; 0 when none are written.
int value_width(const Heatmap& map) {
  std::size_t width = 0;
  for (const Panel& panel : map.panels)
    for (double value : panel.values)
      if (map.write_values) width = std::max(width, cell_text(value).size() + 1);
  return static_cast<int>(width);
}

std::string drawn_cell(const Heatmap& map, double value, int width, bool with_value, ColorDepth depth) {
  const double position = map.range.position(value);
  const std::string text = with_value ? fit(cell_text(value), width - 1, true) + " "
                                      : std::string(static_cast<std::size_t>(width), ' ');
  if (depth == ColorDepth::none)
    return with_value ? text : std::string(text.size(), shade(map.range, position));
  const Rgb color = map.colors->at(position);
  return color_code(48, color, depth) + (with_value ? color_code(38, ink_on(color), depth) : "") + text;
}

/// Columns for each cell: wide enough for level labels if the window allows, else up to four (two look
/// square).
int cell_width(const std::vector<std::string>& column_labels, int room) {
  const int columns = static_cast<int>(column_labels.size());
  const int level = widest(column_labels) + 1;
  if (level <= kWidestCell && level * columns <= room) return std::max(level, 3);
  return std::min(room / columns, 4);
}

std::string labelled_panel(const Heatmap& map, std::size_t panel, const Terminal& terminal, int left,
                           int cell, bool with_values) {
  const auto rows = row_labels(map), columns = column_labels(map, cell);
  const bool level = widest(columns) < cell;
  std::string out = level ? level_labels(columns, left, cell) : upright_labels(columns, left, cell);
  for (std::int64_t r = 0; r < map.rows; ++r) {
    out += fit(rows[static_cast<std::size_t>(r)], left - 1, true) + " ";
    for (std::int64_t c = 0; c < map.columns; ++c) {
      out += drawn_cell(map, map.value(panel, r, c), cell, with_values, terminal.colors);
    }
    if (terminal.colors != ColorDepth::none) out += kReset;
    out += "\n";
  }
  return out;
}

// ---- two rows per line, without labels ----

std::string half_blocks(const Heatmap& map, const Grid& grid, std::int64_t row, ColorDepth depth) {
  std::string line;
  for (std::int64_t c = 0; c < grid.columns; ++c) {
    line += color_code(38, map.colors->at(map.range.position(grid.at(row, c))), depth);
    if (row + 1 < grid.rows) {
      line += color_code(48, map.colors->at(map.range.position(grid.at(row + 1, c))), depth);
    }
    line += "\xe2\x96\x80";  // upper half block
  }
  return line.append(kReset);
}

std::string dense_panel(const Heatmap& map, const Grid& grid, ColorDepth depth, int left) {
  std::string out;
  const int step = depth == ColorDepth::none ? 1 : 2;
  for (std::int64_t r = 0; r < grid.rows; r += step) {
    const std::string position = std::to_string(map.first_row + r * grid.down);
    out += fit((r / step) % 5 == 0 ? position : "", left - 1, true) + " ";
    if (depth == ColorDepth::none) {
      for (std::int64_t c = 0; c < grid.columns; ++c)
        out += shade(map.range, map.range.position(grid.at(r, c)));
    } else {
      out += half_blocks(map, grid, r, depth);
    }
    out += "\n";
  }
  return out;
}

// ---- around the matrix ----

std::string legend(const Heatmap& map, const Terminal& terminal) {
  const std::string low = rounded(map.range.low) + " [";
  const std::string high = "] " + rounded(map.range.high);
  const int length = std::clamp(terminal.width - display_width(low + high), 2, 20);
  std::string bar;
  for (int i = 0; i < length; ++i) {
    const double t = i / (length - 1.0);
    if (terminal.colors == ColorDepth::none) {
      bar += shade(map.range, t);
    } else {
      bar += color_code(48, map.colors->at(t), terminal.colors) + " ";
    }
  }
  if (terminal.colors != ColorDepth::none) bar += kReset;
  const int room = terminal.width - length - display_width(low + high) - 2;
  std::string what = printable(map.quantity);
  if (display_width(what) > room) what = room > 3 ? fit(what, room) : "";
  return low + bar + high + (what.empty() ? "" : "  " + what) + "\n";
}

std::string heading(const Heatmap& map, int width) {
  std::string out = heading_lines(map.title, map.subtitle, width);
  if (!map.row_axis.empty() && !map.column_axis.empty()) {
    out +=
        cut_line(concat("rows: ", printable(map.row_axis), ", columns: ", printable(map.column_axis)), width);
  }
  return out;
}

}  // namespace

std::string draw_on_terminal(const Heatmap& map, const Terminal& terminal) {
  check(map);
  std::string out = heading(map, terminal.width);
  const int left = std::min({widest(row_labels(map)), kWidestLabel, terminal.width / 3}) + 1;
  int cell =
      map.columns < terminal.width ? cell_width(column_labels(map, kWidestLabel), terminal.width - left) : 0;
  const int value = value_width(map);
  const bool with_values = value > 0 && value * map.columns <= terminal.width - left;
  if (with_values) cell = std::max(cell, value);
  const bool fits = cell >= 1 && (terminal.height == 0 || map.rows <= terminal.height - 4 || map.rows <= 10);
  Grid grid;
  for (std::size_t i = 0; i < map.panels.size(); ++i) {
    if (const std::size_t across = map.panel_columns.size(); across > 0) {
      out += cut_line(printable(map.panel_rows[i / across] + ", " + map.panel_columns[i % across]),
                      terminal.width);
    }
    if (!map.panels[i].caption.empty()) out += cut_line(printable(map.panels[i].caption), terminal.width);
    if (fits) {
      out += labelled_panel(map, i, terminal, left, cell, with_values);
      continue;
    }
    const int numbers = static_cast<int>(std::to_string(map.first_row + map.rows).size()) + 1;
    const std::int64_t lines = terminal.height == 0 ? 200 : terminal.height - 4;
    grid = shrink(map, i, terminal.colors == ColorDepth::none ? lines : 2 * lines, terminal.width - numbers);
    out += dense_panel(map, grid, terminal.colors, numbers);
  }
  out += legend(map, terminal);
  if (!fits && (!map.row_labels.empty() || !map.column_labels.empty()))
    out += cut_line("no room for the words", terminal.width);
  if (grid.down > 1 || grid.across > 1) {
    out += cut_line(concat("each cell is the mean of ", grid.down, " x ", grid.across, " values"),
                    terminal.width);
  }
  return out;
}

}  // namespace heed::draw
