// Charts: curves over a number, grouped bars over names, histograms; which columns of tables become curves or
// bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "draw/picture/colormap.h"
#include "draw/picture/painter.h"
#include "draw/select/column_table.h"
#include "draw/select/value_range.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

struct Series {
  std::string name;
  std::vector<double> x = {},
                      y = {};  ///< a curve's points in order, NaN a gap; bars have one y per group and no x
  std::size_t color = 0;  ///< number of its colour and mark; bars and curves of one colour differ by dash
  std::size_t dash = 0;
};

struct Chart {
  std::string title, subtitle, x_title, y_title;
  std::vector<std::string> groups;  ///< of bars, left to right; empty: curves
  std::vector<Series> series;
  bool is_histogram = false;          ///< a series has a y between each x and the next
  bool log_x = false, log_y = false;  ///< curves only; values that are not positive are gaps
  std::optional<Range> y_range;       ///< default: the range of the values, from 0 for bars
  Size plot{430, 260};                ///< of the area inside the axes, in points
  bool write_values = false;          ///< write each number over its bar
  bool is_bars() const { return !groups.empty(); }
};

/// A scale of values, from 0 at its lower end to 1.
struct ChartScale {
  Range range;
  bool log = false;
  double position(double value) const;  ///< NaN for a value that cannot be shown
  std::vector<Tick> ticks() const;
};

ChartScale x_scale(const Chart& chart);  ///< of curves
ChartScale y_scale(const Chart& chart);

/// The layout of the picture, in points.
struct ChartLayout {
  Size size;
  Rect plot;
  double label_turn = 0;  ///< names of groups: 0 or 45 degrees
  ChartScale x, y;
  std::vector<Point> legend;  ///< middle of the left end of each entry; empty: one series only
  Point place(double x_value, double y_value) const;
  Rect bar(const Chart& chart, std::size_t series, std::size_t group) const;
};

ChartLayout lay_out(const Chart& chart);

/// The bytes of the picture. Throws Error when no value can be shown.
std::string draw_chart(const Chart& chart, PictureFormat format);
/// Several small charts in a grid, `across` per row.
std::string draw_charts(const std::vector<Chart>& charts, std::size_t across, PictureFormat format);
/// The chart as lines of text, no wider than the terminal: curves of dots (letters if there are no colours),
/// horizontal bars.
std::string draw_on_terminal(const Chart& chart, const Terminal& terminal);

/// Throws Error unless there is a value to show and the sizes fit each other.
void check(const Chart& chart);

struct ChartOptions {
  std::string x;               ///< column; empty: for curves `step` if there is one, otherwise the first
  std::vector<std::string> y;  ///< columns; empty: for curves the losses, otherwise every numeric one
  std::vector<std::string> overlays;  ///< further tables
  std::vector<std::string> labels;    ///< names of the tables, INPUT first; default: the names of the files
  std::string x_title, y_title;
  bool log_x = false, log_y = false;
  std::string size;  ///< of the plot in points, "430x260"
};

/// The tables in one chart: each column is a series, or with several tables each table's column. Bars of
/// several tables are grouped by name. Throws Error for columns that are missing or hold text.
Chart curves_of(const std::vector<ColumnTable>& tables, const ChartOptions& options);
Chart bars_of(const std::vector<ColumnTable>& tables, const ChartOptions& options);

}  // namespace heed::draw
