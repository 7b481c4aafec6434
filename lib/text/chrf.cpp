#include "text/chrf.h"

#include "base/error.h"
#include "text/ngrams.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

std::string without_white_space(const std::string& line) {
  std::string out;
  for (std::string_view word : split_white_space(line)) out += word;
  return out;
}

/// The words of a line with single spaces between, punctuation at the end, or else at the start, of a word
/// split off, as in the author's program.
std::string words_and_punctuation(const std::string& line) {
  constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  auto is_punctuation = [&](char c) { return punctuation.find(c) != std::string_view::npos; };
  std::vector<std::string> list;
  for (std::string_view word : split_white_space(line)) {
    if (word.size() > 1 && characters(word).size() > 1) {
      if (is_punctuation(word.back())) {
        list.emplace_back(word.substr(0, word.size() - 1));
        word.remove_prefix(word.size() - 1);
      } else if (is_punctuation(word.front())) {
        list.emplace_back(word.substr(0, 1));
        word.remove_prefix(1);
      }
    }
    list.emplace_back(word);
  }
  return joined(list, " ");
}

}  // namespace

Chrf::Chrf(ChrfOptions options) : options_(std::move(options)) {
  if (options_.char_order < 1 || options_.word_order < 0 || options_.beta < 1) {
    fail<UsageError>("chrF: wanted character order >= 1, word order >= 0 and beta >= 1");
  }
}

Statistics Chrf::matches(const std::string& hypothesis, const std::string& reference) const {
  Statistics matches;
  auto compare_units = [&](const std::vector<std::string_view>& ours,
                           const std::vector<std::string_view>& theirs, std::int64_t orders) {
    for (std::int64_t n = 1; n <= orders; ++n) {
      const NgramCounts a = ngrams(ours, static_cast<std::size_t>(n)),
                        b = ngrams(theirs, static_cast<std::size_t>(n));
      // A reference too short for this order gives no precision.
      for (const std::int64_t count : {b.empty() ? 0 : total(a), total(b), common(a, b)})
        matches.push_back(static_cast<double>(count));
    }
  };
  const std::string a = options_.whitespace ? hypothesis : without_white_space(hypothesis),
                    b = options_.whitespace ? reference : without_white_space(reference);
  compare_units(characters(a), characters(b), options_.char_order);
  if (options_.word_order == 0) return matches;
  const std::string words = words_and_punctuation(hypothesis),
                    reference_words = words_and_punctuation(reference);
  compare_units(split_any(words, " "), split_any(reference_words, " "), options_.word_order);
  return matches;
}

double Chrf::f_score(std::span<const double> matches) const {
  constexpr double eps = 1e-16;
  const double factor = static_cast<double>(options_.beta * options_.beta);
  double smoothed = 0, precision_sum = 0, recall_sum = 0;
  int orders = 0;
  for (std::size_t i = 0; i < matches.size(); i += 3) {
    const double ours = matches[i], theirs = matches[i + 1], both = matches[i + 2];
    const double precision = ours > 0 ? both / ours : eps, recall = theirs > 0 ? both / theirs : eps;
    double denominator = factor * precision + recall;
    smoothed += denominator > 0 ? (1 + factor) * precision * recall / denominator : eps;
    if (ours > 0 && theirs > 0) {
      precision_sum += precision;
      recall_sum += recall;
      ++orders;
    }
  }
  if (options_.eps_smoothing) return 100 * smoothed / static_cast<double>(matches.size() / 3);
  if (orders == 0 || precision_sum + recall_sum == 0) return 0;
  double precision = precision_sum / orders, recall = recall_sum / orders;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

Statistics Chrf::compare(const std::string& hypothesis, std::span<const std::string> references) const {
  if (references.empty()) fail("chrF needs a reference");
  Statistics best;
  double best_score = -1;
  for (const std::string& reference : references) {
    Statistics found = options_.lowercase ? matches(to_lower(hypothesis), to_lower(reference))
                                          : matches(hypothesis, reference);
    if (const double score = f_score(found); score > best_score) {
      best_score = score;
      best = std::move(found);
    }
  }
  return best;
}

std::string Chrf::name() const {
  return concat("chrF", options_.beta, std::string(static_cast<std::size_t>(options_.word_order), '+'));
}

std::string Chrf::settings() const {
  return concat("case:", options_.lowercase ? "lc" : "mixed", "|eff:", options_.eps_smoothing ? "no" : "yes",
                "|nc:", options_.char_order, "|nw:", options_.word_order,
                "|space:", options_.whitespace ? "yes" : "no");
}

}  // namespace heed::text
