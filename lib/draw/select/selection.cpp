#include "draw/select/selection.h"

#include <charconv>
#include <string_view>

#include "base/error.h"

namespace heed::draw {
namespace {

using Kind = Selection::Kind;

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

Selection parse_selection(const std::string& dim, const std::string& text) {
  Selection selection{dim};
  const auto colon = text.find(':');
  if (text == "all") return selection;
  if (text == "mean" || text == "max") {
    selection.kind = text == "mean" ? Kind::mean : Kind::max;
    return selection;
  }
  if (colon == std::string::npos && parse_integer(text, selection.first)) {
    selection.kind = Kind::index;
    return selection;
  }
  if (colon != std::string::npos) {
    selection.kind = Kind::range;
    selection.to_end = colon + 1 == text.size();
    const bool starts = colon == 0 || parse_integer(text.substr(0, colon), selection.first);
    const bool ends = selection.to_end || parse_integer(text.substr(colon + 1), selection.last);
    if (starts && ends) return selection;
  }
  if (text.empty()) {
    fail<UsageError>("'", escaped(dim), "=': wanted an index (3), a range (2:5), mean, max, all or a label");
  }
  selection.kind = Kind::label;
  selection.label = text.starts_with('=') ? text.substr(1) : text;
  return selection;
}

Selection parse_selection(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail<UsageError>("--slice '", escaped(text), "': wanted dimension=index, as in head=3");
  }
  return parse_selection(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace heed::draw
