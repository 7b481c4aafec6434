#include "draw/scale.h"

#include <algorithm>
#include <cmath>

#include "draw/labels.h"

namespace heed::draw {

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

}  // namespace heed::draw
