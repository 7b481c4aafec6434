#include "cli/rule.h"

#include <algorithm>

namespace heed::cli {
namespace {

void require(bool allowed, const Rule& rule, const std::string& option, const std::string& text) {
  if (!allowed) fail<UsageError>(option, ": got '", escaped(text), "', wanted ", rule.wanted);
}

}  // namespace

Rule at_least(double low) {
  return {concat("a number of at least ", low), [=](double x) { return x >= low; }, {}};
}

Rule above(double low) {
  return {concat("a number above ", low), [=](double x) { return x > low; }, {}};
}

Rule between(double low, double high) {
  return {concat("a number from ", low, " to ", high), [=](double x) { return x >= low && x <= high; }, {}};
}

Rule one_of(std::vector<std::string> choices) {
  return {alternatives(choices), {}, choices};
}

void check(const Rule& rule, const std::string& option, const std::string& text) {
  require(rule.choices.empty() || std::ranges::count(rule.choices, text) > 0, rule, option, text);
}

void check(const Rule& rule, const std::string& option, const std::string& text, double number) {
  require(!rule.allows_number || rule.allows_number(number), rule, option, text);
}

}  // namespace heed::cli
