// The tool score: BLEU and chrF of a text against references, the error rate of alignments, the
// perplexity of a text, or how well labels were predicted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/options.h"
#include "text/bleu.h"
#include "text/chrf.h"
#include "text/confusion.h"

namespace heed {

inline const std::vector<std::string> kMetrics{"bleu", "chrf", "all"};

struct ScoreCommand {
  std::string hypothesis = "-", output = "-";
  io::WriteOptions write;               ///< of the confusion matrix
  std::vector<std::string> references;  ///< texts, line by line parallel to the hypothesis
  std::string alignments;               ///< gold links; then the hypothesis holds links too
  std::string labels;                   ///< true labels; then the hypothesis holds predicted ones
  bool perplexity = false;              ///< the hypothesis holds what `decode --force` writes
  std::string metric = "bleu";          ///< bleu, chrf or all
  text::BleuOptions bleu;
  text::ChrfOptions chrf;
  bool json = false;
  bool score_only = false;
  std::int64_t width = 2;  ///< decimal places of the score

  /// Throws Error when the texts differ in their number of lines, UsageError unless one thing is compared.
  void run() const;

  struct Result {
    std::string name;
    double score;
    std::string signature, details = {};
    std::vector<std::pair<std::string, double>> numbers = {};  ///< further ones, for JSON
    std::vector<text::LabelScore> labels = {};
  };

 private:
  std::vector<Result> compute() const;
  std::vector<Result> compare_alignments() const;
  std::vector<Result> compare_labels() const;
  std::vector<Result> compute_perplexity() const;
  /// Labels are compared and `output` is an HDF5 file: the confusion matrix goes there, the report to stdout.
  bool writes_matrix() const { return !labels.empty() && output.ends_with(".h5"); }
  std::string report(const std::vector<Result>& results) const;
};

}  // namespace heed
