// chrF and chrF++ of a corpus, equal to sacreBLEU to every printed digit.
// Popovic 2015, "chrF: character n-gram F-score for automatic MT evaluation", equation 1:
//   chrF = (1 + beta^2) P R / (beta^2 P + R),   P, R: precision and recall averaged over the n-gram orders.
// chrF++ (Popovic 2017) adds word n-grams of order 1 and 2.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/range.h"

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

struct ChrfScore {
  double score = 0;       ///< 0 to 100
  std::string name;       ///< "chrF2", "chrF2++"
  std::string signature;  ///< "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:..."
};

/// Accumulates sentences one by one, in constant memory.
class Chrf {
 public:
  explicit Chrf(ChrfOptions options = {});
  /// Adds one sentence and its references, of which the one with the best F-score counts.
  void add(const std::string& hypothesis, std::span<const std::string> references);
  ChrfScore score() const;

 private:
  /// Numbers of n-grams of one order in the hypothesis, in the reference, and in both.
  struct Matches {
    std::int64_t hypothesis = 0, reference = 0, both = 0;
  };
  std::vector<Matches> compare(const std::string& hypothesis, const std::string& reference) const;
  double f_score(const std::vector<Matches>& matches) const;

  ChrfOptions options_;
  std::vector<Matches> sum_;  ///< character orders, then word orders
  std::size_t references_ = 0;
};

}  // namespace heed::text
