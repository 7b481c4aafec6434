// BLEU of a corpus, equal to sacreBLEU to every printed digit.
// Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2.3:
//   BLEU = BP * exp( sum_{n=1..4} (1/4) log p_n ),   BP = 1 if c > r else exp(1 - r/c)
// p_n: clipped n-gram precision over the corpus; c, r: lengths of hypotheses and references. The
// signature states the tokenisation, because scores depend on it (Post 2018, "A Call for Clarity in
// Reporting BLEU Scores").
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/range.h"

namespace heed::text {

inline constexpr int kBleuOrder = 4;
inline const std::vector<std::string> kBleuTokenizations{"13a", "none"};
inline const std::vector<std::string> kBleuSmoothings{"exp", "floor", "add-k", "none"};

struct BleuOptions {
  std::string tokenize = "13a";
  bool lowercase = false;
  std::string smooth = "exp";
  double smooth_value = -1;
  bool effective_order = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("tokenize", self.tokenize, "BLEU: tokenisation: that of mteval-v13a, or none for tokenised text",
          kBleuTokenizations);
    field("lowercase", self.lowercase, "BLEU and chrF: compare in lower case");
    field("smooth", self.smooth, "BLEU: smoothing of orders without a match", kBleuSmoothings);
    field("smooth_value", self.smooth_value, "BLEU: value for floor and add-k (-1: 0.1 and 1)", at_least(-1));
    field("effective_order", self.effective_order,
          "BLEU: leave out the orders the hypotheses are too short for");
  }
};

struct BleuScore {
  double score = 0;  ///< 0 to 100
  std::array<double, kBleuOrder> precisions{};
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;
  std::string signature;  ///< "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:..."

  /// "61.3/38.7/26.5/18.4 (BP = 0.987 ratio = 0.987 hyp_len = 4711 ref_len = 4774)"
  std::string details() const;
};

/// Accumulates sentences one by one, in constant memory.
class Bleu {
 public:
  explicit Bleu(BleuOptions options = {});
  /// Adds one sentence and its references (at least one, the same number for every sentence).
  void add(const std::string& hypothesis, std::span<const std::string> references);
  BleuScore score() const;

 private:
  std::string prepare(const std::string& sentence) const;

  BleuOptions options_;
  bool is_13a_;
  std::array<std::int64_t, kBleuOrder> correct_{}, total_{};
  std::int64_t hypothesis_length_ = 0, reference_length_ = 0;
  std::size_t references_ = 0;
};

/// The words of mteval-v13a, the tokenisation of WMT, joined by single spaces.
std::string tokenize_13a(std::string_view line);

}  // namespace heed::text
