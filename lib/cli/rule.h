// Constraints on the value of an option.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/number.h"

namespace heed::cli {

struct Rule {
  std::string wanted;                         ///< "a number of at least 1"; empty: no constraint
  std::function<bool(double)> allows_number;  ///< for numbers; empty: any
  std::vector<std::string> choices;           ///< for words: those allowed; empty: any
};

/// A number >= `low`.
Rule at_least(double low);
/// A number > `low`.
Rule above(double low);
/// A number in [low, high].
Rule between(double low, double high);
/// One of these words.
Rule one_of(std::vector<std::string> choices);

/// Throws UsageError "--beam: got '0', wanted a number of at least 1" unless the rule allows the value.
void check(const Rule& rule, const std::string& option, const std::string& text);
void check(const Rule& rule, const std::string& option, const std::string& text, double number);

}  // namespace heed::cli
