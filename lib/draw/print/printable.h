// Text and numbers for display. Labels come from untrusted files: they may contain control characters, escape
// sequences, right-to-left text, combining marks and wide characters. Everything that is shown passes through
// here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"

namespace heed::draw {

/// `bytes` as valid UTF-8 that cannot control a terminal or reorder its surroundings: control characters
/// become their pictures (U+2400...), direction overrides and invalid bytes U+FFFD. Truncated to `max`
/// graphemes with an ellipsis.
std::string printable(std::string_view bytes, std::size_t max = 48);

/// The characters of a text with their combining marks. `text` must be valid UTF-8.
std::vector<std::string> graphemes(std::string_view text);

/// Columns of `text` on a terminal: CJK two, combining marks none, vowel signs of Indic scripts one.
int display_width(std::string_view text);

/// `text` in exactly `width` columns: truncated with an ellipsis, or padded on the left or right.
std::string fit(std::string_view text, int width, bool pad_left = false);

/// `bytes` for a field of a TSV file: tab, newline, backslash and control characters as \t, \n, \\ and \x1b.
std::string tsv_field(std::string_view bytes);

/// The shortest text that reads back as the same number: "0.1", "-inf", "nan".
std::string shortest(float value);
std::string shortest(double value);

/// Parses the whole of `text` as a number.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  return parse(text, number) ? std::optional(number) : std::nullopt;
}
/// Two numbers with a separator, "430x260".
std::optional<std::pair<double, double>> parse_pair(std::string_view text, char separator);

/// A number for display: about `digits` significant digits, no exponent where it can be avoided.
std::string rounded(double value, int digits = 4);

}  // namespace heed::draw
