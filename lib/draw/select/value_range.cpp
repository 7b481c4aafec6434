#include "draw/select/value_range.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

/// The next round number at or above `value`, at most about a tenth away.
double rounded_up(double value) {
  const double step = round_step(value / 10);
  return std::max(value, std::ceil(value / step - 1e-9) * step);
}

}  // namespace

double round_step(double step) {
  if (!(step > 0) || !std::isfinite(step)) return 1;
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<Tick> ticks_of(const Range& range, int wanted) {
  std::vector<Tick> ticks;
  const double step = round_step((range.high - range.low) / wanted);
  const double slack = step * 1e-6;
  for (double i = std::ceil((range.low - slack) / step); i * step <= range.high + slack && ticks.size() < 100;
       ++i) {
    ticks.push_back({std::clamp(i * step, range.low, range.high), rounded(i * step)});
  }
  if (ticks.size() < 2) return {{range.low, rounded(range.low)}, {range.high, rounded(range.high)}};
  return ticks;
}

std::vector<Tick> log_ticks_of(const Range& range) {
  std::vector<Tick> ticks;
  const auto add = [&](double value) {
    const bool inside = value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9);
    if (inside) ticks.push_back({value, rounded(value)});
  };
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  for (const auto& factors : {std::vector<double>{1}, {1, 2, 5}}) {
    ticks.clear();
    for (int power = first; power <= last; ++power) {
      for (double factor : factors) add(factor * std::pow(10, power));
    }
    if (ticks.size() >= 3) break;
  }
  return ticks.size() < 2 ? ticks_of(range) : ticks;
}

Range round_range(const Range& range, int wanted) {
  Range wide = range;
  if (!(wide.high > wide.low)) {
    const double part = std::max(std::fabs(wide.low) * 0.1, 1e-12);
    wide = {wide.low - part, wide.high + part};
  }
  const double step = round_step((wide.high - wide.low) / wanted);
  return {std::floor(wide.low / step + 1e-9) * step, std::ceil(wide.high / step - 1e-9) * step};
}

double Range::position(double value) const {
  if (std::isinf(value)) return value < 0 ? 0 : 1;
  return high > low ? (value - low) / (high - low) : value - low + 0.5;
}

Range Range::around(const std::vector<double>& values) {
  Range range{INFINITY, -INFINITY};
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

Range natural_range(const std::vector<double>& values) {
  const auto [low, high] = Range::around(values);
  if (low > high) return {0, 1};
  if (low < 0 && high > 0) return {-rounded_up(std::max(-low, high)), rounded_up(std::max(-low, high))};
  if (low >= 0 && high <= 1) return {0, high > 0.5 || high == 0 ? 1 : rounded_up(high)};
  return {low, high};
}

Range parse_range(const std::string& text) {
  const auto range = parse_pair(text, ':');
  const bool is_finite = range && std::isfinite(range->first) && std::isfinite(range->second);
  if (is_finite && range->first < range->second) return {range->first, range->second};
  fail<UsageError>("--range '", escaped(text), "': wanted low:high with low below high, as in 0:1");
}

}  // namespace heed::draw
