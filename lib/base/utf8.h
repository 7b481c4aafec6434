// Well-formed UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

/// Length of the well-formed sequence that `bytes` begins with; 0 if there is none.
std::size_t utf8_length(std::string_view bytes);

bool is_utf8(std::string_view bytes);

/// Whether it is a code point that UTF-8 can spell.
constexpr bool is_character(std::uint32_t c) {
  return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF);
}

/// Appends a character.
void append_utf8(std::string& text, std::uint32_t c);

}  // namespace heed
