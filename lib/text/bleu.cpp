#include "text/bleu.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/choice.h"
#include "base/fields.h"
#include "base/number.h"
#include "text/ngrams.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using CountsByOrder = std::array<NgramCounts, kBleuOrder>;

CountsByOrder count_ngrams(const std::vector<std::string_view>& words) {
  CountsByOrder counts;
  for (std::size_t n = 0; n < kBleuOrder; ++n) counts[n] = ngrams(words, n + 1);
  return counts;
}

/// The length closest to that of the hypothesis; of two equally close ones the smaller.
std::size_t closest(const std::vector<std::size_t>& lengths, std::size_t wanted) {
  auto distance = [&](std::size_t length) { return length > wanted ? length - wanted : wanted - length; };
  return *std::min_element(lengths.begin(), lengths.end(), [&](std::size_t a, std::size_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
  });
}

enum class Smoothing { exp, floor, add_k, none };

Smoothing smoothing_of(const BleuOptions& options) {
  return chosen<Smoothing>("smooth", kBleuSmoothings, options.smooth);
}

double smooth_value(const BleuOptions& options) {
  if (options.smooth_value >= 0) return options.smooth_value;
  return smoothing_of(options) == Smoothing::floor ? 0.1 : 1.0;
}

double floored_log(double x) {
  return x == 0 ? -9999999999.0 : std::log(x);
}

/// Places in the statistics.
constexpr std::size_t kHypothesisLength = 0, kReferenceLength = 1, kCorrect = 2,
                      kTotal = kCorrect + kBleuOrder;

std::string details(std::span<const double> sum, const std::array<double, kBleuOrder>& precisions,
                    double brevity_penalty) {
  std::vector<std::string> shares;
  for (const double precision : precisions) shares.push_back(fixed(precision, 1));
  const double ours = sum[kHypothesisLength], theirs = sum[kReferenceLength];
  return concat(joined(shares, "/"), " (BP = ", fixed(brevity_penalty, 3),
                " ratio = ", fixed(theirs > 0 ? ours / theirs : 0, 3), " hyp_len = ", fixed(ours, 0),
                " ref_len = ", fixed(theirs, 0), ")");
}

}  // namespace

Bleu::Bleu(BleuOptions options)
    : options_(std::move(options)), words_(options_.tokenize, options_.spm_model) {}

std::string Bleu::prepare(const std::string& sentence) const {
  return words_.of(options_.lowercase ? to_lower(sentence) : sentence);
}

std::string Bleu::settings() const {
  const Smoothing smoothing = smoothing_of(options_);
  const bool has_value = smoothing == Smoothing::floor || smoothing == Smoothing::add_k;
  const std::string smooth =
      has_value ? concat(options_.smooth, "[", fixed(smooth_value(options_), 2), "]") : options_.smooth;
  return concat("case:", options_.lowercase ? "lc" : "mixed",
                "|eff:", options_.effective_order ? "yes" : "no", "|tok:", words_.name(), "|smooth:", smooth);
}

Statistics Bleu::compare(const std::string& hypothesis, std::span<const std::string> references) const {
  if (references.empty()) fail("BLEU needs a reference");
  std::vector<std::string> texts;
  for (const std::string& reference : references) texts.push_back(prepare(reference));
  CountsByOrder allowed;  // the largest count of each n-gram in any reference
  std::vector<std::size_t> lengths;
  for (const std::string& text : texts) {
    const std::vector<std::string_view> words = split_any(text, " ");
    lengths.push_back(words.size());
    const CountsByOrder counts = count_ngrams(words);
    for (int n = 0; n < kBleuOrder; ++n) {
      for (const auto& [ngram, count] : counts[n]) allowed[n][ngram] = std::max(allowed[n][ngram], count);
    }
  }
  const std::string text = prepare(hypothesis);
  const std::vector<std::string_view> words = split_any(text, " ");
  Statistics statistics(kTotal + kBleuOrder);
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    const NgramCounts counts = ngrams(words, n + 1);
    statistics[kCorrect + n] = static_cast<double>(common(counts, allowed[n]));
    statistics[kTotal + n] = static_cast<double>(total(counts));
  }
  statistics[kHypothesisLength] = static_cast<double>(words.size());
  statistics[kReferenceLength] = static_cast<double>(closest(lengths, words.size()));
  return statistics;
}

MetricScore Bleu::score(std::span<const double> sum) const {
  const double ours = sum[kHypothesisLength], theirs = sum[kReferenceLength];
  double brevity_penalty = 1;
  if (ours < theirs) brevity_penalty = ours > 0 ? std::exp(1 - theirs / ours) : 0.0;
  std::array<double, kBleuOrder> precisions{};
  const auto corrects = sum.subspan(kCorrect, kBleuOrder);
  if (std::ranges::all_of(corrects, [](double c) { return c == 0; }))
    return {0, details(sum, precisions, brevity_penalty)};
  const double k = smooth_value(options_);
  const Smoothing smoothing = smoothing_of(options_);
  double halving = 1;
  std::size_t order = kBleuOrder;
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    double correct = sum[kCorrect + n], total = sum[kTotal + n];
    if (smoothing == Smoothing::add_k && n > 0) {
      correct += k;
      total += k;
    }
    if (total == 0) break;
    if (options_.effective_order) order = n + 1;
    if (correct > 0) {
      precisions[n] = 100 * correct / total;
    } else if (smoothing == Smoothing::exp) {
      halving *= 2;
      precisions[n] = 100 / (halving * total);
    } else if (smoothing == Smoothing::floor) {
      precisions[n] = 100 * k / total;
    }
  }
  double log_sum = 0;
  for (std::size_t n = 0; n < order; ++n) log_sum += floored_log(precisions[n]);
  return {brevity_penalty * std::exp(log_sum / static_cast<double>(order)),
          details(sum, precisions, brevity_penalty)};
}

}  // namespace heed::text
