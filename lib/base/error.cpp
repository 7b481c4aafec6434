#include "base/error.h"

#include <algorithm>
#include <cstdio>

namespace heed {

namespace {

/// Length of the well-formed UTF-8 sequence that `bytes` begins with, 0 if there is none.
std::size_t utf8_length(std::string_view bytes) {
  auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  unsigned first = at(0), second = at(1);
  std::size_t length = first < 0x80   ? 1
                       : first < 0xc2 ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool surrogate = first == 0xed && second > 0x9f;
  bool too_large = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string hex(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

}  // namespace

std::string escaped(std::string_view bytes, std::size_t max) {
  std::string out;
  std::size_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); i += std::max<std::size_t>(length, 1)) {
    if (out.size() >= max) return out + "...";
    auto c = static_cast<unsigned char>(bytes[i]);
    length = utf8_length(bytes.substr(i));
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 0 || c < 0x20 || c == 0x7f) {
      out += hex(c);
    } else if (c == 0xc2 &&
               static_cast<unsigned char>(bytes[i + 1]) < 0xa0) {  // C1 controls steer terminals too
      out += hex(c) + hex(static_cast<unsigned char>(bytes[i + 1]));
    } else {
      out += bytes.substr(i, length);
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) (text += &part == parts.data() ? "" : separator) += part;
  return text;
}

std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() < 2) return joined(names);
  return joined({names.begin(), names.end() - 1}) + " or " + names.back();
}

}  // namespace heed
