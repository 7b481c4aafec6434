// Translation edit rate, equal to sacreBLEU to every printed digit.
// Snover et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation", section 3:
//   TER = edits / words of the reference (the mean of several),
// where an edit inserts, deletes or replaces a word, or shifts a run of words. Finding the fewest edits with
// shifts is hard: shifts are chosen greedily, by tercom's rules and within its limits.
#pragma once

#include <string>

#include "text/metric.h"

namespace heed::text {

struct TerOptions {
  bool normalized = false;
  bool no_punct = false;
  bool asian_support = false;
  bool case_sensitive = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("ter_normalized", self.normalized, "TER: let punctuation and possessives be words of their own");
    field("ter_no_punct", self.no_punct, "TER: leave out punctuation");
    field("ter_asian_support", self.asian_support,
          "TER: let these two know Asian characters and punctuation");
    field("ter_case_sensitive", self.case_sensitive, "TER: do not compare in lower case");
  }
};

class Ter : public Metric {
 public:
  explicit Ter(TerOptions options = {}) : options_(options) {}
  /// The number of edits to the nearest reference, and the mean number of words of the references.
  Statistics compare(const std::string& hypothesis, std::span<const std::string> references) const override;
  MetricScore score(std::span<const double> sum) const override;
  bool counts_errors() const override { return true; }
  std::string name() const override { return "TER"; }
  std::string settings() const override;

 private:
  TerOptions options_;
};

}  // namespace heed::text
