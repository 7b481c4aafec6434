#include "base/number.h"

#include <cstdio>

namespace heed {

std::string fixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace heed
