// Ranges of values, and round numbers within them for axes and colour bars.
#pragma once

#include <string>
#include <vector>

namespace heed::draw {

/// The interval of values that a colour map spans.
struct Range {
  double low = 0, high = 1;
  /// From the smallest to the largest finite value; low > high if there is none.
  static Range around(const std::vector<double>& values);
  /// The relative position of `value`: 0 at low, 1 at high; infinities at the ends, NaN stays NaN.
  double position(double value) const;
};

/// A range for the finite `values`: probabilities from 0 (to 1 if they come close to it), values of both
/// signs symmetric around 0, otherwise from minimum to maximum.
Range natural_range(const std::vector<double>& values);

/// "lo:hi" as a range; throws UsageError.
Range parse_range(const std::string& text);

struct Tick {
  double value = 0;
  std::string text;
};

/// The smallest of 1, 2, 5, 10, 20, ... (or their tenths, hundredths, ...) that is at least `step`.
double round_step(double step);

/// About `wanted` round values within `range`, ascending; its two ends if it contains no round value.
std::vector<Tick> ticks_of(const Range& range, int wanted = 5);

/// Powers of ten within `range`, which must be positive; also 2 and 5 times those if there are fewer than
/// three; ticks_of() if fewer than two of these lie within it.
std::vector<Tick> log_ticks_of(const Range& range);

/// The smallest range with round ends that contains `range`; an empty one is widened first.
Range round_range(const Range& range, int wanted = 5);

}  // namespace heed::draw
