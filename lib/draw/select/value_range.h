// Ranges of values, and round numbers inside them for axes and colour bars.
#pragma once

#include <string>
#include <vector>

namespace heed::draw {

/// The interval of values that a colour map spans.
struct Range {
  double low = 0, high = 1;
  /// From the least to the greatest finite value; low > high when there is none.
  static Range around(const std::vector<double>& values);
  /// Where `value` lies: 0 at low, 1 at high; infinities at the ends, NaN stays NaN.
  double position(double value) const;
};

/// A range for the finite `values`: probabilities from 0 (to 1 when they come near it), values of both signs
/// symmetric around 0, otherwise from minimum to maximum.
Range natural_range(const std::vector<double>& values);

/// "lo:hi" as a range; throws UsageError.
Range parse_range(const std::string& text);

struct Tick {
  double value = 0;
  std::string text;
};

/// The least of 1, 2, 5, 10, 20, ... (or their tenths, hundredths, ...) that is at least `step`.
double round_step(double step);

/// About `wanted` round values inside `range`, ascending; its two ends when it contains no round value.
std::vector<Tick> ticks_of(const Range& range, int wanted = 5);

/// Powers of ten inside `range`, which is above 0; also 2 and 5 times those when they are fewer than three;
/// ticks_of() when none of these lies inside twice.
std::vector<Tick> log_ticks_of(const Range& range);

/// The least range with round ends that contains `range`; one of no length is widened first.
Range round_range(const Range& range, int wanted = 5);

}  // namespace heed::draw
