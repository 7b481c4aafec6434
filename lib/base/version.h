// The version of heed, set in CMakeLists.txt.
#pragma once

namespace heed {

/// "0.1.0"
const char* version();

}  // namespace heed
