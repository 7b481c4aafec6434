#include "draw/print/printable.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"

namespace heed::draw {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";     // U+2026

/// Calls `visit` with each code point of `text` and its bytes; an invalid byte is the code point -1.
template <class Visit>
void visit_codes(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    utf8proc_int32_t code = -1;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                    static_cast<utf8proc_ssize_t>(text.size()), &code);
    const std::size_t size = n <= 0 ? 1 : static_cast<std::size_t>(n);
    visit(n <= 0 ? -1 : code, text.substr(0, size));
    text.remove_prefix(size);
  }
}

/// Vowel signs of Indic scripts take a column, as in wcwidth() and most terminals.
int columns_of(utf8proc_int32_t code) {
  return utf8proc_category(code) == UTF8PROC_CATEGORY_MC ? 1 : utf8proc_charwidth(code);
}

bool reorders_text(utf8proc_int32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void append_printable(std::string& out, utf8proc_int32_t code) {
  if (code >= 0 && code < 0x20) {
    append_utf8(out, static_cast<std::uint32_t>(0x2400 + code));
  } else if (code == 0x7f) {
    append_utf8(out, 0x2421);
  } else if (code < 0 || (code >= 0x80 && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
             reorders_text(code)) {
    out += kReplacement;
  } else {
    append_utf8(out, static_cast<std::uint32_t>(code));
  }
}

template <class Float>
std::string to_shortest(Float value) {
  if (std::isnan(value)) return "nan";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t max) {
  std::string clean;
  // A grapheme has a few bytes: skip what lies far beyond the cut.
  visit_codes(bytes.substr(0, 64 * (max + 1)),
              [&](utf8proc_int32_t code, std::string_view) { append_printable(clean, code); });
  const auto characters = graphemes(clean);
  if (characters.size() <= max) return clean;
  std::string cut;
  for (std::size_t i = 0; i + 1 < max; ++i) cut += characters[i];
  return cut.append(kEllipsis);
}

std::vector<std::string> graphemes(std::string_view text) {
  std::vector<std::string> list;
  utf8proc_int32_t previous = 0;
  utf8proc_int32_t state = 0;
  visit_codes(text, [&](utf8proc_int32_t code, std::string_view bytes) {
    const bool starts = list.empty() || code < 0 || utf8proc_grapheme_break_stateful(previous, code, &state);
    if (starts) list.emplace_back();
    list.back().append(bytes);
    previous = code < 0 ? 0 : code;
  });
  return list;
}

int display_width(std::string_view text) {
  int width = 0;
  visit_codes(text,
              [&](utf8proc_int32_t code, std::string_view) { width += code < 0 ? 1 : columns_of(code); });
  return width;
}

std::string fit(std::string_view text, int width, bool pad_left) {
  int used = display_width(text);
  std::string out(text);
  if (used > width) {
    out.clear();
    used = 0;
    for (const auto& character : graphemes(text)) {
      const int columns = display_width(character);
      if (used + columns > width - 1) break;
      out += character;
      used += columns;
    }
    if (width > 0) out += kEllipsis, ++used;
  }
  const std::string padding(static_cast<std::size_t>(width > used ? width - used : 0), ' ');
  return pad_left ? padding + out : out + padding;
}

std::string tsv_field(std::string_view text) {
  std::string out;
  visit_codes(text, [&](utf8proc_int32_t code, std::string_view bytes) {
    static constexpr std::string_view special = "\t\n\r\\", letters = "tnr\\";
    const auto place = code < 0 ? special.npos : special.find(bytes);
    if (place != special.npos) {
      out += {'\\', letters[place]};
    } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      for (unsigned char byte : bytes) {
        char hex[8];
        std::snprintf(hex, sizeof hex, "\\x%02x", byte);
        out += hex;
      }
    } else {
      out += bytes;
    }
  });
  return out;
}

std::string shortest(float value) {
  return to_shortest(value);
}
std::string shortest(double value) {
  return to_shortest(value);
}

std::optional<std::pair<double, double>> parse_pair(std::string_view text, char separator) {
  const auto middle = std::min(text.find(separator), text.size());
  const auto first = parse_number<double>(text.substr(0, middle));
  const auto second = parse_number<double>(text.substr(std::min(middle + 1, text.size())));
  return first && second ? std::optional(std::pair(*first, *second)) : std::nullopt;
}

std::string rounded(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return "0";
  const double size = std::fabs(value);
  char buffer[40];
  if (size >= 1e7 || size < 1e-4) {
    std::snprintf(buffer, sizeof buffer, "%.*e", digits - 1, value);
    return buffer;
  }
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  std::snprintf(buffer, sizeof buffer, "%.*f", std::max(0, digits - before), value);
  std::string text = buffer;
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

}  // namespace heed::draw
