// The common interface of translation metrics: BLEU, chrF and TER are functions of sums over sentences. The
// statistics of one sentence give its score, the sum over all sentences the score of a text, the sum over a
// sample of them a score for bootstrap resampling (text/bootstrap.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heed::text {

/// The counts of a metric in a sentence, or sums of them.
using Statistics = std::vector<double>;

/// Adds to `sum`, which may be empty.
inline void add_to(Statistics& sum, std::span<const double> statistics) {
  sum.resize(statistics.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += statistics[i];
}

struct MetricScore {
  double score = 0;  ///< percent: 0 to 100, for TER possibly more
  std::string details =
      {};  ///< for BLEU: "61.3/38.7/26.5/18.4 (BP = 0.987 ratio = 0.987 hyp_len = 47 ref_len = 48)"
};

/// The settings of bootstrap resampling, for signatures.
struct Resampling {
  std::int64_t samples = 1000, seed = 1;
};

class Metric {
 public:
  virtual ~Metric() = default;
  /// The statistics of a sentence and its references. Throws Error if there is no reference.
  virtual Statistics compare(const std::string& hypothesis,
                             std::span<const std::string> references) const = 0;
  virtual MetricScore score(std::span<const double> sum) const = 0;
  /// Whether a lower score is better.
  virtual bool counts_errors() const { return false; }
  /// "BLEU", "chrF2++", "TER"
  virtual std::string name() const = 0;
  /// "case:mixed|eff:no|tok:13a|smooth:exp"
  virtual std::string settings() const = 0;
};

/// The settings to report with a score (Post 2018, "A Call for Clarity in Reporting BLEU Scores"), in
/// sacreBLEU's form: "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-0.1.0".
std::string signature(const Metric& metric, std::size_t references,
                      const std::optional<Resampling>& resampling = {});

}  // namespace heed::text
