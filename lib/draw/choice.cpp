#include "draw/choice.h"

#include <charconv>
#include <string_view>

#include "base/error.h"

namespace heed::draw {
namespace {

using Kind = Choice::Kind;

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

Choice parse_choice(const std::string& dim, const std::string& text) {
  Choice choice{dim};
  const auto colon = text.find(':');
  if (text == "all") return choice;
  if (text == "mean" || text == "max") {
    choice.kind = text == "mean" ? Kind::mean : Kind::max;
    return choice;
  }
  if (colon == std::string::npos && parse_integer(text, choice.first)) {
    choice.kind = Kind::index;
    return choice;
  }
  if (colon != std::string::npos) {
    choice.kind = Kind::range;
    choice.to_end = colon + 1 == text.size();
    const bool starts = colon == 0 || parse_integer(text.substr(0, colon), choice.first);
    const bool ends = choice.to_end || parse_integer(text.substr(colon + 1), choice.last);
    if (starts && ends) return choice;
  }
  if (text.empty()) {
    fail<UsageError>("'", escaped(dim), "=': wanted an index (3), a range (2:5), mean, max, all or a label");
  }
  choice.kind = Kind::label;
  choice.label = text.starts_with('=') ? text.substr(1) : text;
  return choice;
}

Choice parse_choice(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail<UsageError>("--slice '", escaped(text), "': wanted dimension=index, as in head=3");
  }
  return parse_choice(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace heed::draw
