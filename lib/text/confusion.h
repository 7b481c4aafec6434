// Confusion of labels: counts of predicted labels for each true label, and the resulting scores. With the
// counts C[truth, prediction], a label l has precision = C[l, l] / sum_t C[t, l], recall = C[l, l] / sum_p
// C[l, p], F1 = 2 C[l, l] / (sum_t C[t, l] + sum_p C[l, p]); a quotient with denominator 0 is 0. Accuracy is
// the share of equal labels; macro-F1 is the mean F1 of all labels that occur as truth or prediction (as in
// scikit-learn's f1_score with average="macro").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heed::text {

/// The label that a line states: the text before its first tab, without white space around it; it may be empty.
std::string label_of(const std::string& line);

struct LabelScore {
  std::string label;
  double precision = 0, recall = 0, f1 = 0;  ///< percent
  std::int64_t count = 0;                    ///< lines with this true label
};

struct ConfusionScore {
  double accuracy = 0, macro_f1 = 0;  ///< percent
  std::int64_t lines = 0;
  std::vector<LabelScore> labels;  ///< in byte order
};

class Confusion {
 public:
  void add(const std::string& truth, const std::string& prediction);
  /// The labels that occur as truth or prediction, in byte order.
  std::vector<std::string> labels() const;
  /// By index in labels(): [truth, prediction], row-major.
  std::vector<std::int32_t> counts() const;
  ConfusionScore score() const;

 private:
  std::map<std::pair<std::string, std::string>, std::int32_t> counts_;  ///< (truth, prediction) -> lines
};

}  // namespace heed::text
