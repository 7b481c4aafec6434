// The causal mask: a query sees nothing that comes after it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heed {

/// How many of m keys, from the first on, query i of n sees: the last query sees all of them.
inline std::int64_t causal_keys(std::int64_t i, std::int64_t n, std::int64_t m) {
  return std::clamp<std::int64_t>(i + 1 + m - n, 0, m);
}

}  // namespace heed
