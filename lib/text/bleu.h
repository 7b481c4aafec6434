// BLEU of a corpus, equal to sacreBLEU to every printed digit.
// Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2.3:
//   BLEU = BP * exp( sum_{n=1..4} (1/4) log p_n ),   BP = 1 if c > r else exp(1 - r/c)
// p_n: clipped n-gram precision over the corpus; c, r: lengths of hypotheses and references.
#pragma once

#include <string>
#include <vector>

#include "base/range.h"
#include "text/metric.h"
#include "text/metric_words.h"

namespace heed::text {

inline constexpr int kBleuOrder = 4;
inline const std::vector<std::string> kBleuSmoothings{"exp", "floor", "add-k", "none"};

struct BleuOptions {
  std::string tokenize = "13a";
  std::string spm_model = {};
  bool lowercase = false;
  std::string smooth = "exp";
  double smooth_value = -1;
  bool effective_order = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("tokenize", self.tokenize,
          "BLEU: words: of mteval-v13a, or its international ones, Chinese, Japanese by MeCab, characters, "
          "the pieces of --spm-model, or none for tokenised text",
          kBleuTokenizations);
    field("spm_model", self.spm_model,
          "BLEU: SentencePiece model whose pieces are the words (--tokenize spm)");
    field("lowercase", self.lowercase, "BLEU and chrF: compare in lower case");
    field("smooth", self.smooth, "BLEU: smoothing of orders without a match", kBleuSmoothings);
    field("smooth_value", self.smooth_value, "BLEU: value for floor and add-k (-1: 0.1 and 1)", at_least(-1));
    field("effective_order", self.effective_order,
          "BLEU: leave out the orders the hypotheses are too short for");
  }
};

class Bleu : public Metric {
 public:
  /// Throws UsageError on a wrong setting, Error when the SentencePiece model cannot be read.
  explicit Bleu(BleuOptions options = {});
  /// Length of the hypothesis and of the reference, and for each order the number of matching n-grams and of
  /// all.
  Statistics compare(const std::string& hypothesis, std::span<const std::string> references) const override;
  MetricScore score(std::span<const double> sum) const override;
  std::string name() const override { return "BLEU"; }
  std::string settings() const override;

 private:
  std::string prepare(const std::string& sentence) const;

  BleuOptions options_;
  MetricWords words_;
};

}  // namespace heed::text
