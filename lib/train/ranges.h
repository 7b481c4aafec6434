// A flat buffer cut into fixed ranges for several threads. The ranges do not depend on the number of threads,
// so neither does the order of any sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/parallel.h"

namespace heed {

/// Elements per range: a few buffers of this size stay in a core's cache between two passes over them.
inline constexpr std::int64_t kRangeSize = 32768;

inline std::int64_t range_count(std::int64_t size) {
  return (size + kRangeSize - 1) / kRangeSize;
}

/// Runs task(range number, first element, number of elements) for each range of a buffer of `size` elements.
inline void for_ranges(std::int64_t size, int threads,
                       const std::function<void(std::int64_t, std::size_t, std::size_t)>& task) {
  parallel_for(range_count(size), threads, [&](std::int64_t range) {
    const std::int64_t first = range * kRangeSize;
    task(range, static_cast<std::size_t>(first),
         static_cast<std::size_t>(std::min(kRangeSize, size - first)));
  });
}

}  // namespace heed
