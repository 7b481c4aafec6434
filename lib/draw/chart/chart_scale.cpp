// The axes of charts: what they span, and which values can be shown.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/chart/chart.h"

namespace heed::draw {
namespace {

constexpr std::size_t kMostGroups = 400;

bool can_show(double value, bool log) {
  return std::isfinite(value) && (!log || value > 0);
}

/// From least to greatest of the values that can be shown; low > high when there is none.
Range extent(const Chart& chart, std::vector<double> Series::*values, bool log) {
  Range range{INFINITY, -INFINITY};
  for (const Series& series : chart.series) {
    for (double value : series.*values) {
      if (!can_show(value, log)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return range;
}

Range log_range(const Range& range) {
  return range.high > range.low ? range : Range{range.low / 2, range.high * 2};
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

}  // namespace heed::draw
