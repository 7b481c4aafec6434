#include "text/minimum_risk.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heed::text {

namespace {

/// Larger is better.
double gain(const Metric& metric, const std::string& translation, std::span<const std::string> references) {
  const double score = metric.score(metric.compare(translation, references)).score;
  return metric.counts_errors() ? -score : score;
}

std::size_t first_of_largest(const std::vector<double>& gains) {
  return static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
}

}  // namespace

std::size_t nearest(const Metric& metric, std::span<const std::string> translations,
                    std::span<const std::string> references) {
  std::vector<double> gains;
  for (const std::string& translation : translations) gains.push_back(gain(metric, translation, references));
  return first_of_largest(gains);
}

std::size_t least_risk(const Metric& metric, std::span<const std::string> translations,
                       std::span<const double> log_weights) {
  const double most = std::ranges::max(log_weights);
  std::vector<double> gains(translations.size(), 0.0);
  for (std::size_t j = 0; j < translations.size(); ++j) {
    const double share = std::exp(log_weights[j] - most);
    for (std::size_t i = 0; i < translations.size(); ++i)
      gains[i] += share * gain(metric, translations[i], translations.subspan(j, 1));
  }
  return first_of_largest(gains);
}

}  // namespace heed::text
