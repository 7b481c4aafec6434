// Round numbers for axes and colour bars.
#pragma once

#include <string>
#include <vector>

#include "draw/colormap.h"

namespace heed::draw {

struct Tick {
  double value = 0;
  std::string text;
};

/// The least of 1, 2, 5, 10, 20, ... (or their tenths, hundredths, ...) that is at least `step`.
double round_step(double step);

/// About `wanted` round values inside `range`, least first; its two ends when there is no round value inside.
std::vector<Tick> ticks_of(const Range& range, int wanted = 5);

}  // namespace heed::draw
