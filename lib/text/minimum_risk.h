// The choice among several translations of a sentence by a metric.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "text/metric.h"

namespace heed::text {

/// The index of the translation with the best score against the references, the first of equals. There must be a
/// translation, here and below.
std::size_t nearest(const Metric& metric, std::span<const std::string> translations,
                    std::span<const std::string> references);

/// Minimum Bayes risk: the index of the translation with the best expected score, the first of equals, where
/// each translation is in turn the reference, with a probability proportional to exp(its log-weight).
/// Kumar and Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation", section 2, if those
/// are log-probabilities; the translations of an n-best list are hypotheses and evidence.
std::size_t least_risk(const Metric& metric, std::span<const std::string> translations,
                       std::span<const double> log_weights);

}  // namespace heed::text
