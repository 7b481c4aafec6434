// What the tool score does: BLEU and chrF of a text against references, or the error rate of alignments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/bleu.h"
#include "text/chrf.h"

namespace heed {

struct ScoreCommand {
  std::string hypothesis = "-", output = "-";
  std::vector<std::string> references;  ///< texts, line by line parallel to the hypothesis
  std::string alignments;               ///< gold links; then the hypothesis holds links too
  std::string metric = "bleu";          ///< bleu, chrf or all
  text::BleuOptions bleu;
  text::ChrfOptions chrf;
  bool json = false;
  bool score_only = false;
  std::int64_t width = 2;  ///< decimal places of the score

  /// Throws Error when the texts differ in their number of lines.
  void run() const;

  struct Result {
    std::string name;
    double score;
    std::string signature, details = {};
    std::vector<std::pair<std::string, double>> numbers = {};  ///< further ones, for JSON
  };

 private:
  std::vector<Result> compute() const;
  std::vector<Result> compare_alignments() const;
  std::string report(const std::vector<Result>& results) const;
};

}  // namespace heed
