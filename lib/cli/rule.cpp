#include "cli/rule.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace heed::cli {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& wanted) {
  fail<UsageError>(option, ": got '", escaped(text), "', wanted ", wanted);
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Rule at_least(double low) {
  return {concat("a number of at least ", low), {}, [=](double x) { return x >= low; }, {}};
}

Rule above(double low) {
  return {concat("a number above ", low), {}, [=](double x) { return x > low; }, {}};
}

Rule between(double low, double high) {
  return {
      concat("a number from ", low, " to ", high), {}, [=](double x) { return x >= low && x <= high; }, {}};
}

Rule one_of(std::vector<std::string> choices) {
  std::string wanted;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    wanted += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
  }
  auto allows = [choices](const std::string& text) { return std::ranges::count(choices, text) > 0; };
  return {wanted, allows, {}, choices};
}

std::int64_t to_integer(const std::string& option, const std::string& text) {
  std::int64_t number = 0;
  if (!parse(text, number)) refuse(option, text, "an integer");
  return number;
}

double to_real(const std::string& option, const std::string& text) {
  double number = 0;
  if (!parse(text, number) || !std::isfinite(number)) refuse(option, text, "a number");
  return number;
}

void check(const Rule& rule, const std::string& option, const std::string& text) {
  if (rule.allows && !rule.allows(text)) refuse(option, text, rule.wanted);
}

void check(const Rule& rule, const std::string& option, const std::string& text, double number) {
  if (rule.allows_number && !rule.allows_number(number)) refuse(option, text, rule.wanted);
}

}  // namespace heed::cli
