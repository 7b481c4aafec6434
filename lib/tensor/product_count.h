// How many floating-point operations this thread's matrix products took, for measurements.
#pragma once

#include <cstdint>

namespace heed {

inline thread_local double product_flops = 0;

/// [m, k] times [k, n] was or will be computed.
inline void count_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  product_flops += 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace heed
