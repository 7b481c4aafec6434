// Formatting and parsing of numbers.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.h"

namespace heed {

/// With this many digits after the decimal point.
inline std::string fixed(double value, std::int64_t digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value);
  return text;
}

inline std::string_view without_plus(std::string_view text) {
  return text.substr(text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
}

/// Parses the whole of `text` as a number, independent of the locale; false if it is not one.
template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

/// Parses an option's value, with an optional leading +. Throws UsageError "--beam: got 'x', wanted an
/// integer".
inline std::int64_t to_integer(const std::string& option, const std::string& text) {
  std::int64_t number = 0;
  if (!parse(without_plus(text), number)) {
    double large = 0;
    const bool is_large = text.find_first_of(".e") == std::string::npos && parse(without_plus(text), large) &&
                          std::isfinite(large);
    fail<UsageError>(option, ": got '", escaped(text), "', wanted an integer",
                     is_large ? concat(" from ", INT64_MIN, " to ", INT64_MAX) : "");
  }
  return number;
}
inline double to_real(const std::string& option, const std::string& text) {
  double number = 0;
  if (!parse(without_plus(text), number) || !std::isfinite(number))
    fail<UsageError>(option, ": got '", escaped(text), "', wanted a number");
  return number;
}

/// 100 part / whole; 0 when `whole` is 0.
inline double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace heed
