// Numbers as people read them.
#pragma once

#include <string>

namespace heed {

/// With so many digits after the point.
std::string fixed(double value, int digits);

}  // namespace heed
