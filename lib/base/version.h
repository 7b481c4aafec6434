// Build information from CMakeLists.txt.
#pragma once

#include <span>

namespace heed {

/// "0.1.0"
const char* version();
/// The names of heed's programs, in order.
std::span<const char* const> tools();

}  // namespace heed
