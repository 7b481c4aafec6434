#include "draw/chart/chart.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

constexpr std::size_t kMostGroups = 400;
constexpr double kLegendRow = 16;
constexpr Rgb kInk{0x22, 0x22, 0x22};
constexpr Rgb kGrid{0xe4, 0xe4, 0xe4};
constexpr Rgb kAxisLine{0x88, 0x88, 0x88};
constexpr TextStyle kAxis{11, {0x44, 0x44, 0x44}};
constexpr TextStyle kTick{10, {0x44, 0x44, 0x44}};
constexpr TextStyle kLegend{10.5, kInk};
constexpr TextStyle kValue{8.5, {0x44, 0x44, 0x44}};

// ---- scales: what the axes span, and which values can be shown ----

bool can_show(double value, bool log) {
  return std::isfinite(value) && (!log || value > 0);
}

/// From least to greatest of the values that can be shown; low > high when there is none.
Range extent(const Chart& chart, std::vector<double> Series::*values, bool log) {
  std::vector<double> shown;
  for (const Series& series : chart.series) {
    std::copy_if((series.*values).begin(), (series.*values).end(), std::back_inserter(shown),
                 [&](double value) { return can_show(value, log); });
  }
  return Range::around(shown);
}

Range log_range(const Range& range) {
  return range.high > range.low ? range : Range{range.low / 2, range.high * 2};
}

// ---- layout ----

/// Length of the sample beside a legend's text.
double swatch(const Chart& chart) {
  return chart.is_bars() ? 11 : 22;
}

std::string legend_text(const Series& series) {
  return printable(series.name, 60);
}

/// Places the legend's entries above the plot, in as many rows as they need.
void place_legend(const Chart& chart, double left, double top, double width, ChartLayout& layout) {
  if (chart.series.size() < 2) return;
  double x = left, y = top + kLegendRow / 2;
  for (const Series& series : chart.series) {
    const double entry = swatch(chart) + 6 + text_width(legend_text(series), kLegend) + 18;
    if (x > left && x + entry - 18 > left + width) {
      x = left;
      y += kLegendRow;
    }
    layout.legend.push_back({x, y});
    x += entry;
  }
}

double widest_tick(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text, kTick));
  return width;
}

std::string group_text(const Chart& chart, std::size_t group) {
  return printable(chart.groups[group], 32);
}

/// Height under the plot, and the turn of the groups' names.
double footer_height(const Chart& chart, ChartLayout& layout) {
  const double title = chart.x_title.empty() ? 0 : 17;
  if (!chart.is_bars()) return 20 + title;
  const double room = layout.plot.width / static_cast<double>(chart.groups.size());
  double longest = 0;
  for (std::size_t i = 0; i < chart.groups.size(); ++i) {
    longest = std::max(longest, text_width(group_text(chart, i), kTick));
  }
  if (longest <= room - 6) return 20 + title;
  layout.label_turn = 45;
  return 12 + (longest + kTick.size) * std::sqrt(0.5) + title;
}

// ---- drawing ----

/// A mark that tells curves apart without colour.
void draw_mark(Painter& painter, Point at, std::size_t number) {
  const Rgb color = series_color(number);
  const double r = 2.6;
  switch (number % 4) {
    case 0:
      return painter.disc(at, r, color);
    case 1:
      return painter.fill({at.x - r, at.y - r, 2 * r, 2 * r}, color);
    case 2:
      return painter.polygon({{at.x, at.y - 3.4}, {at.x + 3.1, at.y + 2.2}, {at.x - 3.1, at.y + 2.2}}, color);
    default:
      return painter.polygon({{at.x, at.y - 3.6}, {at.x + 3.6, at.y}, {at.x, at.y + 3.6}, {at.x - 3.6, at.y}},
                             color);
  }
}

Stroke stroke_of(const Series& series) {
  static const std::vector<double> dashes[] = {{}, {6, 3}, {1.5, 2.5}, {8, 3, 1.5, 3}};
  return {series_color(series.color), 1.8, 1, dashes[series.dash % 4]};
}

/// Marks stand on the points of curves that have few.
bool has_marks(const Chart& chart) {
  return !chart.is_histogram &&
         std::all_of(chart.series.begin(), chart.series.end(), [](auto& s) { return s.x.size() <= 40; });
}

void draw_curve(const Series& series, const ChartLayout& layout, bool marks, Painter& painter) {
  std::vector<Point> run;
  const auto finish_run = [&] {
    if (run.size() == 1 && !marks) painter.disc(run.front(), 1.5, series_color(series.color));
    if (run.size() > 1) painter.polyline(run, stroke_of(series));
    run.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const Point point = layout.place(series.x[i], series.y[i]);
    if (std::isnan(point.x) || std::isnan(point.y)) {
      finish_run();
      continue;
    }
    run.push_back(point);
    if (marks) draw_mark(painter, point, series.color);
  }
  finish_run();
}

void draw_bars(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    for (std::size_t g = 0; g < chart.groups.size(); ++g) {
      const double value = chart.series[s].y[g];
      if (!std::isfinite(value)) continue;
      const Rect bar = layout.bar(chart, s, g);
      painter.fill(bar, series_color(chart.series[s].color));
      if (!chart.write_values) continue;
      const double y = value < 0 ? bar.y + bar.height + 7 : bar.y - 7;
      painter.text(rounded(value, 3), bar.x + bar.width / 2, y, kValue, Anchor::middle);
    }
  }
}

void draw_histogram(const Series& series, const ChartLayout& layout, Painter& painter) {
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    const Point left = layout.place(series.x[i], series.y[i]), right = layout.place(series.x[i + 1], 0);
    const double seam = right.x - left.x >= 4 ? 0.5 : 0;
    painter.fill({left.x, left.y, right.x - left.x - seam, right.y - left.y}, series_color(series.color));
  }
}

void draw_legend(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  for (std::size_t i = 0; i < layout.legend.size(); ++i) {
    const Series& series = chart.series[i];
    const Point at = layout.legend[i];
    if (chart.is_bars()) {
      painter.fill({at.x, at.y - 5, swatch(chart), 10}, series_color(series.color));
    } else {
      painter.polyline({at, {at.x + swatch(chart), at.y}}, stroke_of(series));
      if (has_marks(chart)) draw_mark(painter, {at.x + swatch(chart) / 2, at.y}, series.color);
    }
    painter.text(legend_text(series), at.x + swatch(chart) + 6, at.y, kLegend);
  }
}

void draw_y_axis(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  const Rect& plot = layout.plot;
  const auto ticks = layout.y.ticks();
  for (const Tick& tick : ticks) {
    const double y = plot.y + plot.height * (1 - layout.y.position(tick.value));
    painter.line(plot.x, y, plot.x + plot.width, y, kGrid, 0.75);
    painter.text(tick.text, plot.x - 7, y, kTick, Anchor::end);
  }
  painter.text(printable(chart.y_title, 60), plot.x - widest_tick(ticks) - 18, plot.y + plot.height / 2,
               kAxis, Anchor::middle, 90);
}

void draw_x_axis(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  const Rect& plot = layout.plot;
  const double bottom = plot.y + plot.height;
  if (chart.is_bars()) {
    const double step = plot.width / static_cast<double>(chart.groups.size());
    for (std::size_t i = 0; i < chart.groups.size(); ++i) {
      const double x = plot.x + step * (static_cast<double>(i) + 0.5);
      const bool level = layout.label_turn == 0;
      painter.text(group_text(chart, i), x, bottom + (level ? 12 : 9), kTick,
                   level ? Anchor::middle : Anchor::end, layout.label_turn);
    }
  } else {
    for (const Tick& tick : layout.x.ticks()) {
      const double x = plot.x + plot.width * layout.x.position(tick.value);
      painter.line(x, bottom, x, bottom + 4, kAxisLine, 0.75);
      painter.text(tick.text, x, bottom + 13, kTick, Anchor::middle);
    }
  }
  painter.text(printable(chart.x_title, 60), plot.x + plot.width / 2, layout.size.height - kMargin - 3, kAxis,
               Anchor::middle);
}

void draw_base_lines(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  const Rect& plot = layout.plot;
  const double base = chart.is_bars() ? std::clamp(layout.y.position(0), 0.0, 1.0) : 0;
  const double y = plot.y + plot.height * (1 - base);
  painter.line(plot.x, y, plot.x + plot.width, y, kAxisLine, 0.75);
}

void draw_parts(const Chart& chart, const ChartLayout& layout, Painter& painter) {
  draw_heading(chart.title, chart.subtitle, layout.plot.x, painter);
  draw_legend(chart, layout, painter);
  draw_y_axis(chart, layout, painter);
  draw_x_axis(chart, layout, painter);
  const Rect plot = layout.plot;
  const Rect room{plot.x - 4, plot.y - 16, plot.width + 8, plot.height + 20};  // marks on the edge stay whole
  painter.clipped(room, [&] {
    if (chart.is_bars()) draw_bars(chart, layout, painter);
    const bool marks = has_marks(chart);
    for (const Series& series : chart.series) {
      chart.is_histogram ? draw_histogram(series, layout, painter)
                         : draw_curve(series, layout, marks, painter);
    }
  });
  draw_base_lines(chart, layout, painter);
}

}  // namespace

double ChartScale::position(double value) const {
  if (!can_show(value, log)) return NAN;
  if (!log) return range.position(value);
  return Range{std::log(range.low), std::log(range.high)}.position(std::log(value));
}

std::vector<Tick> ChartScale::ticks() const {
  return log ? log_ticks_of(range) : ticks_of(range);
}

ChartScale x_scale(const Chart& chart) {
  const Range range = extent(chart, &Series::x, chart.log_x);
  if (chart.log_x) return {log_range(range), true};
  return {range.high > range.low ? range : round_range(range), false};
}

ChartScale y_scale(const Chart& chart) {
  if (chart.y_range) return {*chart.y_range, chart.log_y};
  Range range = extent(chart, &Series::y, chart.log_y);
  if (chart.log_y) return {log_range(range), true};
  if (chart.is_bars() || chart.is_histogram) range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
  return {round_range(range, 10), false};
}

void check(const Chart& chart) {
  if (chart.groups.size() > kMostGroups) {
    fail("a chart of ", chart.groups.size(), " groups of bars is too wide (at most ", kMostGroups, ")");
  }
  bool any = false;
  for (const Series& series : chart.series) {
    const std::size_t steps = series.x.size() - (chart.is_histogram && !series.x.empty() ? 1 : 0);
    const std::size_t wanted = chart.is_bars() ? chart.groups.size() : steps;
    if (series.y.size() != wanted) {
      fail("'", escaped(series.name), "' has ", series.y.size(), " values, wanted ", wanted);
    }
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      any |= can_show(series.y[i], chart.log_y) && (chart.is_bars() || can_show(series.x[i], chart.log_x));
    }
  }
  if (!any) fail("there is nothing to draw: no value can be shown");
}

Point ChartLayout::place(double x_value, double y_value) const {
  return {plot.x + plot.width * x.position(x_value), plot.y + plot.height * (1 - y.position(y_value))};
}

Rect ChartLayout::bar(const Chart& chart, std::size_t series, std::size_t group) const {
  const double step = plot.width / static_cast<double>(chart.groups.size());
  const double gap = std::min(step * 0.25, 24.0);
  const double width = (step - gap) / static_cast<double>(chart.series.size());
  const double left =
      plot.x + step * static_cast<double>(group) + gap / 2 + width * static_cast<double>(series);
  const double zero = std::clamp(y.position(0), 0.0, 1.0);
  const double end = std::clamp(y.position(chart.series[series].y[group]), 0.0, 1.0);
  const double seam = width >= 6 ? 1 : 0;  // white between neighbours
  return {left, plot.y + plot.height * (1 - std::max(zero, end)), width - seam,
          plot.height * std::fabs(end - zero)};
}

ChartLayout lay_out(const Chart& chart) {
  check(chart);
  ChartLayout layout;
  layout.y = y_scale(chart);
  if (!chart.is_bars()) layout.x = x_scale(chart);
  const double bars = static_cast<double>(chart.groups.size() * chart.series.size());
  const double width = std::max(chart.plot.width, bars * (chart.write_values ? 20 : 6));
  const double left =
      std::ceil(kMargin + (chart.y_title.empty() ? 0 : 20) + widest_tick(layout.y.ticks()) + 8);
  const double top = kMargin + heading_size(chart.title, chart.subtitle).height;
  place_legend(chart, left, top, width, layout);
  const double legend = layout.legend.empty() ? 0 : layout.legend.back().y + kLegendRow / 2 - top + 4;
  layout.plot = {left, std::ceil(top + legend + 8), width, chart.plot.height};
  const double heading = left + heading_size(chart.title, chart.subtitle).width;
  const double footer = footer_height(chart, layout);
  layout.size = {std::ceil(std::max(left + width, heading) + kMargin),
                 std::ceil(layout.plot.y + layout.plot.height + footer + kMargin)};
  return layout;
}

std::string draw_chart(const Chart& chart, PictureFormat format) {
  const ChartLayout layout = lay_out(chart);
  return paint(format, layout.size, [&](Painter& painter) { draw_parts(chart, layout, painter); });
}

std::string draw_charts(const std::vector<Chart>& charts, std::size_t across, PictureFormat format) {
  constexpr double scale = 0.7;
  std::vector<ChartLayout> layouts;
  Size cell;
  for (const Chart& chart : charts) {
    layouts.push_back(lay_out(chart));
    cell.width = std::max(cell.width, layouts.back().size.width * scale);
    cell.height = std::max(cell.height, layouts.back().size.height * scale);
  }
  const std::size_t down = (charts.size() + across - 1) / across;
  const Size size{std::ceil(cell.width * static_cast<double>(across)),
                  std::ceil(cell.height * static_cast<double>(down))};
  return paint(format, size, [&](Painter& painter) {
    for (std::size_t i = 0; i < charts.size(); ++i) {
      // Flush right, so that the axes of a column stand in line.
      const Point at{cell.width * static_cast<double>(i % across + 1) - layouts[i].size.width * scale,
                     cell.height * static_cast<double>(i / across)};
      painter.placed(at, scale, [&] { draw_parts(charts[i], layouts[i], painter); });
    }
  });
}

}  // namespace heed::draw
