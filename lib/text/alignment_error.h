// Alignment error rate of word alignments with respect to manual ones.
// F. J. Och and H. Ney, A Systematic Comparison of Various Statistical Alignment Models, 2003, equation 5:
//   AER = 1 - (|A n S| + |A n P|) / (|A| + |S|), precision = |A n P| / |A|, recall = |A n S| / |S|,
// with the links A, the sure gold links S, and P the possible ones, which include the sure; all counted over
// the whole text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace heed::text {

/// Source word and target word, both from 0, and whether the link is sure. A repeated link counts once; it is
/// sure if any occurrence is.
using Links = std::map<std::pair<std::int64_t, std::int64_t>, bool>;

/// The links of one sentence in Pharaoh format, separated by blanks: 3-4 is sure, 3p4 and 3?4 are possible.
/// Throws Error beginning with `where`.
Links parse_links(std::string_view line, const std::string& where);

struct AlignmentScore {
  /// Percent. Precision is 0 without links, recall without sure links.
  double error = 0, precision = 0, recall = 0;
  std::int64_t links = 0, sure = 0, possible = 0;  ///< |A|, |S|, |P|
};

class AlignmentError {
 public:
  /// Adds one sentence. The sure marks of `links` are ignored.
  void add(const Links& links, const Links& gold);
  /// Whether there is neither a link nor a sure gold link.
  bool empty() const { return links_ + sure_ == 0; }
  /// Throws Error if nothing was added.
  AlignmentScore score() const;

 private:
  std::int64_t links_ = 0, sure_ = 0, possible_ = 0;
  std::int64_t right_sure_ = 0, right_possible_ = 0;  ///< |A n S|, |A n P|
};

}  // namespace heed::text
