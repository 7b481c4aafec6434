#include "cli/rule.h"

#include <algorithm>

namespace heed::cli {
namespace {

void require(bool allowed, const std::string& option, const std::string& text, const std::string& wanted) {
  if (!allowed) fail<UsageError>(option, ": got '", escaped(text), "', wanted ", wanted);
}

}  // namespace

Rule one_of(std::vector<std::string> choices) {
  Rule rule;
  rule.choices = std::move(choices);
  return rule;
}

void check(const Rule& rule, const std::string& option, const std::string& text) {
  require(rule.choices.empty() || std::ranges::count(rule.choices, text) > 0, option, text,
          alternatives(rule.choices));
}

void check(const Rule& rule, const std::string& option, const std::string& text, double number) {
  require(rule.range.holds(number), option, text, number_in(rule.range));
}

}  // namespace heed::cli
