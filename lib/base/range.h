// The numbers that an option or a field of a config may have.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace heed {

struct Range {
  static constexpr double kAny = std::numeric_limits<double>::infinity();
  double low = -kAny, high = kAny;
  bool low_excluded = false, high_excluded = false;

  bool holds(double x) const {
    return (low_excluded ? x > low : x >= low) && (high_excluded ? x < high : x <= high);
  }
  bool unlimited() const { return low == -kAny && high == kAny; }
};

/// Numbers >= `low`.
inline Range at_least(double low) {
  return {.low = low};
}
/// Numbers > `low`.
inline Range above(double low) {
  return {.low = low, .low_excluded = true};
}
/// Numbers in [low, high].
inline Range between(double low, double high) {
  return {.low = low, .high = high};
}
/// Numbers > `low` and <= `high`.
inline Range above_to(double low, double high) {
  return {.low = low, .high = high, .low_excluded = true};
}
/// Numbers >= `low` and < `high`.
inline Range from_below(double low, double high) {
  return {.low = low, .high = high, .high_excluded = true};
}
/// Sizes: 1 to `most`, which catches typing errors that would take all memory.
inline Range up_to(double most) {
  return between(1, most);
}
/// Probabilities that leave something over: 0 <= p < 1.
inline Range share() {
  return from_below(0, 1);
}

/// "1 to 1000", "at least 1", "above 0, at most 1"
inline std::string to_string(const Range& range) {
  const auto number = [](double x) {
    return x == std::floor(x) && std::fabs(x) < 1e15 ? std::to_string(static_cast<std::int64_t>(x))
                                                     : concat(x);
  };
  if (!range.low_excluded && !range.high_excluded && range.high < Range::kAny)
    return number(range.low) + " to " + number(range.high);
  std::string text = (range.low_excluded ? "above " : "at least ") + number(range.low);
  if (range.high < Range::kAny)
    text += (range.high_excluded ? ", below " : ", at most ") + number(range.high);
  return text;
}

/// The same in a sentence: "a number from 1 to 1000", "a number of at least 1", "a number above 0, at most 1"
inline std::string number_in(const Range& range) {
  const std::string text = to_string(range);
  return (text.starts_with("above")      ? "a number "
          : text.starts_with("at least") ? "a number of "
                                         : "a number from ") +
         text;
}

}  // namespace heed
