// chrF and chrF++ of a corpus, equal to sacreBLEU to every printed digit.
// Popovic 2015, "chrF: character n-gram F-score for automatic MT evaluation", equation 1:
//   chrF = (1 + beta^2) P R / (beta^2 P + R),   P, R: precision and recall averaged over the n-gram orders.
// chrF++ (Popovic 2017) adds word n-grams of order 1 and 2.
#pragma once

#include <cstdint>
#include <string>

#include "base/range.h"
#include "text/metric.h"

namespace heed::text {

struct ChrfOptions {
  std::int64_t char_order = 6;
  std::int64_t word_order = 0;
  std::int64_t beta = 2;
  bool lowercase = false;
  bool whitespace = false;
  bool eps_smoothing = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("chrf_char_order", self.char_order, "chrF: longest character n-gram", up_to(100));
    field("chrf_word_order", self.word_order, "chrF: longest word n-gram; 2 is chrF++", between(0, 100));
    field("chrf_beta", self.beta, "chrF: weight of recall", at_least(1));
    field("chrf_whitespace", self.whitespace, "chrF: count white space as characters");
    field("chrf_eps_smoothing", self.eps_smoothing, "chrF: smooth as chrF++.py does");
  }
};

class Chrf : public Metric {
 public:
  /// Throws UsageError on a wrong setting.
  explicit Chrf(ChrfOptions options = {});
  /// For each order, of characters and then of words, the number of n-grams of the hypothesis, of the
  /// reference and of both; of several references the one with the best F-score counts.
  Statistics compare(const std::string& hypothesis, std::span<const std::string> references) const override;
  MetricScore score(std::span<const double> sum) const override { return {f_score(sum)}; }
  std::string name() const override;
  std::string settings() const override;

 private:
  Statistics matches(const std::string& hypothesis, const std::string& reference) const;
  double f_score(std::span<const double> matches) const;

  ChrfOptions options_;
};

}  // namespace heed::text
