// Percentages.
#pragma once

#include <cstdint>

namespace heed::text {

/// 100 part / whole; 0 when `whole` is 0.
inline double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace heed::text
