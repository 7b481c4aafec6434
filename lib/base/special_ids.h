// Ids that every vocabulary shares: models and texts agree on them.
#pragma once

#include <cstdint>

namespace heed {

inline constexpr std::int32_t kPad = 0, kUnknown = 1, kBos = 2, kEos = 3;
inline constexpr std::int32_t kSpecialIds = 4;  ///< they are the first

}  // namespace heed
