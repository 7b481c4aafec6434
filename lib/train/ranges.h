// A flat buffer cut into fixed ranges for several threads. The ranges do not depend on the number of threads,
// so neither does the order of any sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/parallel.h"

namespace heed {

/// Elements per range: a few buffers of this size stay in a core's cache between two passes over them.
inline constexpr std::int64_t range_size = 32768;

inline std::int64_t range_count(std::int64_t size) {
  return (size + range_size - 1) / range_size;
}

/// Runs task(range number, first element, number of elements) for each range of a buffer of `size` elements.
inline void for_ranges(std::int64_t size, int threads,
                       const std::function<void(std::int64_t, std::size_t, std::size_t)>& task) {
  parallel_for(range_count(size), threads, [&](std::int64_t range) {
    const std::int64_t first = range * range_size;
    task(range, static_cast<std::size_t>(first),
         static_cast<std::size_t>(std::min(range_size, size - first)));
  });
}

}  // namespace heed
