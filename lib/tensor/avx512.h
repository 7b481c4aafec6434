// For kernels written in AVX-512's own instructions, where Highway 1.0 lacks them. Such code stands between
// HWY_PUSH_ATTRIBUTES, with the sets of instructions it uses, and HWY_POP_ATTRIBUTES.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "hwy/base.h"

HWY_PUSH_ATTRIBUTES("avx512f")
namespace heed::avx512 {

inline constexpr std::int64_t kLanes = 16;  ///< float32 in a vector

/// The mask of the first `count` lanes: none if count is not positive, at most all.
HWY_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : (1u << std::max<std::int64_t>(count, 0)) - 1);
}

}  // namespace heed::avx512
HWY_POP_ATTRIBUTES
#endif
