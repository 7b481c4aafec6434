// Constraints on the value of an option.
#pragma once

#include <string>
#include <vector>

#include "base/number.h"
#include "base/range.h"

namespace heed::cli {

using heed::above;
using heed::at_least;
using heed::between;

struct Rule {
  Rule() = default;
  Rule(Range numbers) : range(numbers) {}

  Range range;                       ///< of numbers
  std::vector<std::string> choices;  ///< allowed words; empty: any
};

/// One of these words.
Rule one_of(std::vector<std::string> choices);

/// Throws UsageError "--beam: got '0', wanted a number of at least 1" unless the rule allows the value.
void check(const Rule& rule, const std::string& option, const std::string& text);
void check(const Rule& rule, const std::string& option, const std::string& text, double number);

}  // namespace heed::cli
