// Local attention's windows of keys (Luong, Pham, Manning 2015, section 3.2). Positions count from 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heed {

/// A range of keys of a sentence.
struct KeyWindow {
  std::int64_t first = 0, count = 0;
};

/// The keys s of 0 .. keys-1 with p - d <= s <= p + d; empty when no key lies within.
inline KeyWindow window_around(double p, std::int64_t d, std::int64_t keys) {
  const double width = static_cast<double>(d), end = static_cast<double>(keys - 1);
  const double low = std::max(0.0, std::ceil(p - width)), high = std::min(end, std::floor(p + width));
  if (!(low <= high)) return {};
  const auto first = static_cast<std::int64_t>(low);
  return {first, static_cast<std::int64_t>(high) - first + 1};
}

/// Eq. 10: exp(-(s - p)^2 / (2 (d / 2)^2)).
inline double window_factor(std::int64_t s, double p, std::int64_t d) {
  const double distance = (static_cast<double>(s) - p) / (static_cast<double>(d) / 2);
  return std::exp(-distance * distance / 2);
}

}  // namespace heed
