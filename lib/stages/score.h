// The tool score: BLEU, chrF and TER of translations against references, the choice among several translations
// by them, the error rate of alignments, the perplexity of a text, and the accuracy of predicted labels.
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
  std::vector<std::string> references;  ///< texts whose lines correspond to those of the hypothesis
  std::vector<std::string> systems;     ///< further hypotheses, each compared with the first
  std::string alignments;               ///< gold links; the hypothesis then holds links as well
  std::string labels;                   ///< true labels; the hypothesis then holds predicted ones
  bool perplexity = false;              ///< the hypothesis is the output of `decode --force`
  std::string metric = "bleu";          ///< bleu, chrf, ter or all
  text::BleuOptions bleu;
  text::ChrfOptions chrf;
  text::TerOptions ter;
  bool sentence_level = false;  ///< one line per sentence
  bool choose = false;  ///< the hypothesis is an n-best list; one translation of each sentence is written
  text::Resampling resampling{0, 1};  ///< no samples: no intervals
  ScoreReport report;

  /// Throws Error if the texts differ in their number of lines, UsageError unless exactly one comparison or a
  /// choice is requested.
  void run() const;

 private:
  /// Receives the lines of the report.
  using Write = std::function<void(const std::string&)>;
  void compare_translations(const Write& out) const;
  void choose_translations(const Write& out) const;
  void compare_alignments(const Write& out) const;
  void compare_labels(const Write& out) const;
  void compute_perplexity(const Write& out) const;
  /// The requested metrics among BLEU, chrF and TER.
  std::vector<std::unique_ptr<text::Metric>> metrics() const;
  void check_usage() const;
  /// Labels are compared and `output` is an HDF5 file: the confusion matrix is written there, the report to
  /// stdout.
  bool writes_matrix() const { return !labels.empty() && output.ends_with(".h5"); }
};

}  // namespace heed
