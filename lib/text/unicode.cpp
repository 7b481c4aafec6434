#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/utf8.h"

namespace heed::text {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kCapitalIWithDot = 0x130;

/// Reads the character at the front of `bytes`; returns its length in bytes, 0 when it is not well-formed.
std::size_t decode(std::string_view bytes, char32_t& c) {
  utf8proc_int32_t value = -1;
  const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
  utf8proc_ssize_t used = utf8proc_iterate(data, static_cast<utf8proc_ssize_t>(bytes.size()), &value);
  if (used <= 0) return 0;
  c = static_cast<char32_t>(value);
  return static_cast<std::size_t>(used);
}

/// Unicode's Cased, without the few letters that have it by Other_Lowercase.
bool is_cased(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return false;
  }
}

/// Unicode's Case_Ignorable: marks, modifiers, format characters and the punctuation inside words.
bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019 || c == 0x2024 ||
             c == 0x2027;
  }
}

/// Unicode's Final_Sigma condition for the character at `at`.
bool ends_word(const std::u32string& text, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  if (before == 0 || !is_cased(text[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return after == text.size() || !is_cased(text[after]);
}

std::string normalised(const std::string& text, utf8proc_option_t form) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                                             static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(bytes, &std::free);
  if (size < 0) fail("cannot normalise \"", escaped(text), "\": ", utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view bytes) {
  char32_t c = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    std::size_t used = decode(bytes.substr(at), c);
    if (used == 0) return at;
    at += used;
  }
  return std::string_view::npos;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string clean;
  for (;;) {
    std::size_t bad = find_invalid_utf8(bytes);
    clean += bytes.substr(0, bad);
    if (bad == std::string_view::npos) return clean;
    append_utf8(clean, 0xFFFD);
    bytes.remove_prefix(bad + 1);
  }
}

std::string nfc(const std::string& text) {
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? text : normalised(text, UTF8PROC_COMPOSE);
}

std::string nfd(const std::string& text) {
  return normalised(text, UTF8PROC_DECOMPOSE);
}

std::vector<std::string_view> graphemes(std::string_view text) {
  std::vector<std::string_view> found;
  std::int32_t state = 0;
  char32_t before = 0;
  for (const std::string_view character : characters(text)) {
    const char32_t c = code_point(character);
    const bool begins =
        found.empty() || utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                          static_cast<utf8proc_int32_t>(c), &state);
    if (begins)
      found.push_back(character);
    else
      found.back() = {found.back().data(), found.back().size() + character.size()};
    before = c;
  }
  return found;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> list;
  char32_t c = 0;
  while (!text.empty()) {
    std::size_t used = decode(text, c);
    if (used == 0) fail("invalid UTF-8 in \"", escaped(text), "\"");
    list.push_back(text.substr(0, used));
    text.remove_prefix(used);
  }
  return list;
}

char32_t code_point(std::string_view character) {
  char32_t c = 0;
  decode(character, c);
  return c;
}

char category(char32_t c) {
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(c))[0];
}

bool is_white_space(char32_t c) {
  return c == ' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

std::string_view without_white_space_at_end(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  const auto last = std::ranges::find_if_not(all.rbegin(), all.rend(),
                                             [](auto each) { return is_white_space(code_point(each)); });
  return text.substr(0, last == all.rend() ? 0 : static_cast<std::size_t>(last->end() - text.begin()));
}

std::vector<std::string_view> split_white_space(std::string_view text) {
  std::vector<std::string_view> words;
  char32_t c = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = decode(text.substr(at), c);
    if (used != 0 && is_space(c)) {
      if (at > begin) words.push_back(text.substr(begin, at - begin));
      begin = at + used;
    }
    at += used != 0 ? used : 1;
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

std::vector<std::string_view> split_any(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  for (;;) {
    std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    std::size_t end = text.find_first_of(separators);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

std::string without_nul(std::string_view text) {
  return replace_all(text, std::string_view("\0", 1), "\uFFFD");
}

std::string one_line(std::string_view text) {
  std::string line = without_nul(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string to_lower(std::string_view text) {
  std::u32string wide;
  for (std::string_view character : characters(text)) wide += code_point(character);
  std::string lower;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] == kCapitalSigma && ends_word(wide, i)) {
      append_utf8(lower, kFinalSigma);
    } else if (wide[i] == kCapitalIWithDot) {
      lower += "i\xCC\x87";
    } else {
      append_utf8(lower,
                  static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(wide[i]))));
    }
  }
  return lower;
}

}  // namespace heed::text
