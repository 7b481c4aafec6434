#include "text/yaml_vocabulary.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/number.h"
#include "base/utf8.h"

namespace heed::text {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Parses the character after a backslash, with its digits if any, from the front.
bool take_escape(std::string_view& text, std::string& out) {
  static constexpr std::pair<char, std::uint32_t> named[] = {
      {'0', 0},   {'a', 7},     {'b', 8},    {'t', 9},    {'\t', 9},     {'n', 10},
      {'v', 11},  {'f', 12},    {'r', 13},   {'e', 27},   {' ', ' '},    {'"', '"'},
      {'/', '/'}, {'\\', '\\'}, {'N', 0x85}, {'_', 0xA0}, {'L', 0x2028}, {'P', 0x2029}};
  static constexpr std::pair<char, std::size_t> coded[] = {{'x', 2}, {'u', 4}, {'U', 8}};
  if (text.empty()) return false;
  const char kind = text.front();
  text.remove_prefix(1);
  for (const auto& [letter, point] : named) {
    if (letter != kind) continue;
    append_utf8(out, point);
    return true;
  }
  for (const auto& [letter, digits] : coded) {
    if (letter != kind || text.size() < digits) continue;
    std::uint32_t point = 0;
    const char* end = text.data() + digits;
    if (std::from_chars(text.data(), end, point, 16).ptr != end) return false;
    if (!is_character(point)) return false;
    append_utf8(out, point);
    text.remove_prefix(digits);
    return true;
  }
  return false;
}

/// Parses a piece, which ends at its quote or, if it is plain, at the end of `text`.
std::optional<std::string> take_piece(std::string_view& text) {
  std::string piece;
  if (!text.starts_with('"') && !text.starts_with('\'')) {
    piece = trimmed(std::exchange(text, {}));
    return piece;
  }
  const char quote = text.front();
  text.remove_prefix(1);
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == quote && quote == '\'' && text.starts_with('\'')) {
      piece += '\'';
      text.remove_prefix(1);
    } else if (c == quote) {
      return piece;
    } else if (c == '\\' && quote == '"') {
      if (!take_escape(text, piece)) return std::nullopt;
    } else {
      piece += c;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::pair<std::string, std::int32_t>> parse_yaml_vocabulary(const std::vector<std::string>& lines,
                                                                        const std::string& name) {
  std::vector<std::pair<std::string, std::int32_t>> entries;
  std::optional<std::string> open;  // the piece of a line "? piece"
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view rest = lines[i];
    const auto refuse = [&] {
      fail(name, ':', i + 1, ": \"", escaped(lines[i], 100),
           "\", wanted a piece, a colon and its id, as in vocab.yml of Marian");
    };
    if (trimmed(rest).empty() || rest.starts_with("---") ||
        (rest.starts_with('#') && rest.find(": ") == rest.npos))
      continue;
    if (!open && rest.starts_with("? ")) {
      rest = trimmed(rest.substr(2));
      open = take_piece(rest);
      if (!open || !rest.empty()) refuse();
      continue;
    }
    const std::size_t colon = rest.rfind(':');
    if (colon == rest.npos) refuse();
    std::int32_t id = 0;
    if (!heed::parse(trimmed(rest.substr(colon + 1)), id) || id < 0) refuse();
    rest = trimmed(rest.substr(0, colon));
    const std::optional<std::string> piece = open ? std::exchange(open, std::nullopt) : take_piece(rest);
    if (!piece || !rest.empty()) refuse();
    entries.emplace_back(*piece, id);
  }
  if (open) fail(name, ": \"", escaped(*open, 100), "\" has no id: cut off?");
  return entries;
}

}  // namespace heed::text
