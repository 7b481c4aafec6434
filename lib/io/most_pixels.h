// How large a picture may be, in a file or in an array.
#pragma once

#include <cstdint>

namespace heed::io {

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

}  // namespace heed::io
