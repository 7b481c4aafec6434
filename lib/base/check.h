// Checks of config fields; each throws UsageError naming the field, its value and the valid range.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace heed {

/// 1 <= value <= most. The upper bound catches typing errors that would allocate all memory.
inline void check_size(const std::string& name, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) fail<UsageError>(name, " is ", value, ", wanted 1 to ", most);
}

/// 0 <= p < 1
inline void check_probability(const std::string& name, double p) {
  if (!(p >= 0 && p < 1)) fail<UsageError>(name, " is ", p, ", wanted a probability below 1");
}

}  // namespace heed
