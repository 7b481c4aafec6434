// Constraints on the value of an option.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heed::cli {

struct Rule {
  std::string wanted;                              ///< "an integer of at least 1"; empty: no constraint
  std::function<bool(const std::string&)> allows;  ///< for words; empty: any
  std::function<bool(double)> allows_number;       ///< for numbers; empty: any
  std::vector<std::string> choices;                ///< the allowed words, for --help and completion
};

/// A number >= `low`.
Rule at_least(double low);
/// A number > `low`.
Rule above(double low);
/// A number in [low, high].
Rule between(double low, double high);
/// One of these words.
Rule one_of(std::vector<std::string> choices);

/// An option's value as a number, independent of the locale. Throws UsageError "--beam: got 'x',
/// wanted an integer".
std::int64_t to_integer(const std::string& option, const std::string& text);
double to_real(const std::string& option, const std::string& text);

/// Throws UsageError "--beam: got '0', wanted a number of at least 1" unless the rule allows the value.
void check(const Rule& rule, const std::string& option, const std::string& text);
void check(const Rule& rule, const std::string& option, const std::string& text, double number);

}  // namespace heed::cli
