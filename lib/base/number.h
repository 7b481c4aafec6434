// Numbers as people read them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace heed {

/// With so many digits after the point.
inline std::string fixed(double value, std::int64_t digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value);
  return text;
}

/// 100 part / whole; 0 when `whole` is 0.
inline double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace heed
