// float32 as bfloat16, its upper half, and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace heed {

/// Rounded to nearest, ties to even; too large becomes infinity and NaN stays NaN.
inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // whatever is cut off
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace heed
