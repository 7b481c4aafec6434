// Bootstrap resampling of a text's score, and of the difference of two scores. Koehn 2004, "Statistical
// Significance Tests for Machine Translation Evaluation": the variation of the score over texts of the same
// number of sentences, drawn from this one with replacement, estimates its variation over further texts of
// the same kind. The intervals and p-values equal sacreBLEU's, and so do the samples, which are NumPy's with
// the same seed (sacreBLEU's is 12345).
#pragma once

#include <cstdint>
#include <vector>

#include "text/metric.h"

namespace heed::text {

/// Draws samples of the numbers from 0 to n - 1 as NumPy does: each call of next() is the next row of
/// numpy.random.default_rng(seed).choice(n, size=(rows, n)).
class SentenceSamples {
 public:
  SentenceSamples(std::int64_t sentences, std::uint64_t seed);
  const std::vector<std::uint32_t>& next();

 private:
  std::uint64_t next64();
  std::uint32_t next32();

  unsigned __int128 state_ = 0, increment_ = 0;  // PCG64: O'Neill 2014, XSL-RR 128/64
  std::uint64_t spare_ = 0;
  bool has_spare_ = false;
  std::vector<std::uint32_t> sample_;
};

/// The scores of all samples of a text, each from the summed statistics of its sentences.
std::vector<double> resampled_scores(const Metric& metric, const std::vector<Statistics>& sentences,
                                     const Resampling& resampling);

/// 95 % of the scores lie between mean - half_width and mean + half_width if they are symmetrical: half_width
/// is half the distance of the 2.5th and the 97.5th percentile.
struct Interval {
  double mean = 0, half_width = 0;
};
Interval interval_of(std::vector<double> scores);

/// The probability that a difference of the scores of two systems as large as `difference` arises by chance,
/// from their scores on the same samples. As in sacreBLEU, equal systems get the minimum, 1 / (samples + 1).
double p_value(const std::vector<double>& baseline, const std::vector<double>& system, double difference);

}  // namespace heed::text
