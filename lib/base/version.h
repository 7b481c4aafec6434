// The version of heed, as CMakeLists.txt states it.
#pragma once

namespace heed {

/// "0.1.0"
const char* version();

}  // namespace heed
