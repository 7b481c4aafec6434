#include "base/utf8.h"

#include <utf8proc.h>

#include <algorithm>

namespace heed {

std::size_t utf8_length(std::string_view bytes) {
  utf8proc_int32_t character;
  const utf8proc_ssize_t used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                                 static_cast<utf8proc_ssize_t>(bytes.size()), &character);
  return static_cast<std::size_t>(std::max<utf8proc_ssize_t>(used, 0));
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void append_utf8(std::string& text, std::uint32_t c) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace heed
