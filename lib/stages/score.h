// The tool score: BLEU, chrF and TER of translations against references, the error rate of alignments, the
// perplexity of a text, or how well labels were predicted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/options.h"
#include "stages/score_report.h"
#include "text/bleu.h"
#include "text/chrf.h"
#include "text/ter.h"

namespace heed {

inline const std::vector<std::string> kMetrics{"bleu", "chrf", "ter", "all"};

struct ScoreCommand {
  std::string hypothesis = "-", output = "-";
  io::WriteOptions write;               ///< of the confusion matrix
  std::vector<std::string> references;  ///< texts, line by line parallel to the hypothesis
  std::vector<std::string> systems;     ///< further hypotheses, each compared with the first
  std::string alignments;               ///< gold links; then the hypothesis holds links too
  std::string labels;                   ///< true labels; then the hypothesis holds predicted ones
  bool perplexity = false;              ///< the hypothesis holds what `decode --force` writes
  std::string metric = "bleu";          ///< bleu, chrf, ter or all
  text::BleuOptions bleu;
  text::ChrfOptions chrf;
  text::TerOptions ter;
  bool sentence_level = false;        ///< a line for each sentence
  text::Resampling resampling{0, 1};  ///< no samples: none
  ScoreReport report;

  /// Throws Error when the texts differ in their number of lines, UsageError unless one thing is compared.
  void run() const;

 private:
  /// Takes the lines of the report.
  using Write = std::function<void(const std::string&)>;
  void compare_translations(const Write& out) const;
  void compare_alignments(const Write& out) const;
  void compare_labels(const Write& out) const;
  void compute_perplexity(const Write& out) const;
  /// BLEU, chrF and TER as far as they are wanted.
  std::vector<std::unique_ptr<text::Metric>> metrics() const;
  void check_usage() const;
  /// Labels are compared and `output` is an HDF5 file: the confusion matrix goes there, the report to stdout.
  bool writes_matrix() const { return !labels.empty() && output.ends_with(".h5"); }
};

}  // namespace heed
