// The largest picture accepted, in a file or an array.
#pragma once

#include <cstdint>

namespace heed::io {

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

}  // namespace heed::io
