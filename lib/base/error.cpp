#include "base/error.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace heed {

namespace {

std::string hex(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

}  // namespace

std::string escaped(std::string_view bytes, std::size_t max) {
  // True of nearly all names, which are escaped before it is known whether a message needs them.
  if (bytes.size() <= max && std::ranges::all_of(bytes, [](char c) { return c >= 0x20 && c < 0x7f; }))
    return std::string(bytes);
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

std::string placed(const std::string& place, std::string_view what) {
  if (what.starts_with(place)) {
    const std::string_view rest = what.substr(place.size());
    if (rest.starts_with(':') || rest.starts_with('/') || place.ends_with('/')) return std::string(what);
  }
  return concat(place, what.starts_with('/') ? ":" : ": ", what);
}

std::string count_of(std::int64_t number, std::string_view noun) {
  return concat(number, ' ', noun, number == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) (text += &part == parts.data() ? "" : separator) += part;
  return text;
}

std::string listed(std::vector<std::string> parts) {
  constexpr std::size_t most = 12;
  const std::size_t more = parts.size() - std::min(parts.size(), most);
  parts.resize(parts.size() - more);
  return joined(parts) + (more > 0 ? concat(" and ", more, " more") : "");
}

std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() < 2) return joined(names);
  return joined({names.begin(), names.end() - 1}) + " or " + names.back();
}

}  // namespace heed
