#include "base/version.h"

namespace heed {

const char* version() {
  return HEED_VERSION;
}

std::span<const char* const> tools() {
  static constexpr const char* kNames[] = {HEED_TOOLS};
  return kNames;
}

}  // namespace heed
