#include "base/error.h"

#include <cstdio>

namespace heed {

std::string escaped(std::string_view bytes, std::size_t max) {
  std::string out;
  for (unsigned char c : bytes) {
    if (out.size() >= max) return out + "...";
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", c);
      out += hex;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

}  // namespace heed
