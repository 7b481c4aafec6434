#include "text/bleu.h"

#include <algorithm>
#include <cmath>

#include "base/choice.h"
#include "base/fields.h"
#include "base/number.h"
#include "base/version.h"
#include "text/ngrams.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using CountsByOrder = std::array<NgramCounts, kBleuOrder>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_period_or_comma(char c) {
  return c == '.' || c == ',';
}

/// Punctuation that always stands alone: ASCII but letters, digits and ' , - .
bool stands_alone(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

/// Rewrites every non-overlapping pair of adjacent characters for which `matches` holds, from left to right.
template <class Matches, class Rewrite>
std::string rewrite_pairs(std::string_view line, Matches matches, Rewrite rewrite) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i + 1 < line.size() && matches(line[i], line[i + 1])) {
      rewrite(out, line[i], line[i + 1]);
      ++i;
    } else {
      out += line[i];
    }
  }
  return out;
}

std::string join_words(std::string_view line) {
  const std::vector<std::string_view> words = split_white_space(line);
  return joined({words.begin(), words.end()}, " ");
}

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

std::string signature(const BleuOptions& options, std::size_t references) {
  const Smoothing smoothing = smoothing_of(options);
  const bool has_value = smoothing == Smoothing::floor || smoothing == Smoothing::add_k;
  const std::string smooth =
      has_value ? concat(options.smooth, "[", fixed(smooth_value(options), 2), "]") : options.smooth;
  return concat("nrefs:", references, "|case:", options.lowercase ? "lc" : "mixed",
                "|eff:", options.effective_order ? "yes" : "no", "|tok:", options.tokenize,
                "|smooth:", smooth, "|version:heed-", version());
}

double floored_log(double x) {
  return x == 0 ? -9999999999.0 : std::log(x);
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text = replace_all(line, "<skipped>", "");
  text = replace_all(text, "-\n", "");
  text = replace_all(text, "\n", " ");
  text = replace_all(text, "&quot;", "\"");
  text = replace_all(text, "&amp;", "&");
  text = replace_all(text, "&lt;", "<");
  text = " " + replace_all(text, "&gt;", ">") + " ";
  std::string apart;
  for (char c : text) apart += stands_alone(c) ? std::string{' ', c, ' '} : std::string(1, c);
  text = rewrite_pairs(
      apart, [](char a, char b) { return !is_digit(a) && is_period_or_comma(b); },
      [](std::string& out, char a, char b) { (((out += a) += ' ') += b) += ' '; });
  text = rewrite_pairs(
      text, [](char a, char b) { return is_period_or_comma(a) && !is_digit(b); },
      [](std::string& out, char a, char b) { (((out += ' ') += a) += ' ') += b; });
  text = rewrite_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& out, char a, char b) { (((out += a) += ' ') += b) += ' '; });
  return join_words(text);
}

std::string BleuScore::details() const {
  std::vector<std::string> shares;
  for (const double precision : precisions) shares.push_back(fixed(precision, 1));
  const double ratio = reference_length > 0
                           ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length)
                           : 0;
  return concat(joined(shares, "/"), " (BP = ", fixed(brevity_penalty, 3), " ratio = ", fixed(ratio, 3),
                " hyp_len = ", hypothesis_length, " ref_len = ", reference_length, ")");
}

Bleu::Bleu(BleuOptions options)
    : options_(std::move(options)),
      is_13a_(chosen<int>("tokenize", kBleuTokenizations, options_.tokenize) == 0) {}

std::string Bleu::prepare(const std::string& sentence) const {
  const std::string text = options_.lowercase ? to_lower(sentence) : sentence;
  return is_13a_ ? tokenize_13a(text) : join_words(text);
}

void Bleu::add(const std::string& hypothesis, std::span<const std::string> references) {
  if (references.empty()) fail("BLEU needs a reference");
  references_ = references.size();
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
  for (int n = 0; n < kBleuOrder; ++n) {
    const NgramCounts counts = ngrams(words, static_cast<std::size_t>(n) + 1);
    total_[n] += total(counts);
    correct_[n] += common(counts, allowed[n]);
  }
  hypothesis_length_ += static_cast<std::int64_t>(words.size());
  reference_length_ += static_cast<std::int64_t>(closest(lengths, words.size()));
}

BleuScore Bleu::score() const {
  BleuScore result;
  result.signature = signature(options_, references_);
  result.hypothesis_length = hypothesis_length_;
  result.reference_length = reference_length_;
  if (hypothesis_length_ < reference_length_) {
    double ratio = static_cast<double>(reference_length_) / static_cast<double>(hypothesis_length_);
    result.brevity_penalty = hypothesis_length_ > 0 ? std::exp(1 - ratio) : 0.0;
  }
  if (std::all_of(correct_.begin(), correct_.end(), [](std::int64_t c) { return c == 0; })) return result;
  const double k = smooth_value(options_);
  const Smoothing smoothing = smoothing_of(options_);
  double halving = 1;
  int order = kBleuOrder;
  for (int n = 0; n < kBleuOrder; ++n) {
    double correct = static_cast<double>(correct_[n]), total = static_cast<double>(total_[n]);
    if (smoothing == Smoothing::add_k && n > 0) {
      correct += k;
      total += k;
    }
    if (total == 0) break;
    if (options_.effective_order) order = n + 1;
    if (correct > 0) {
      result.precisions[n] = 100 * correct / total;
    } else if (smoothing == Smoothing::exp) {
      halving *= 2;
      result.precisions[n] = 100 / (halving * total);
    } else if (smoothing == Smoothing::floor) {
      result.precisions[n] = 100 * k / total;
    }
  }
  double sum = 0;
  for (int n = 0; n < order; ++n) sum += floored_log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(sum / order);
  return result;
}

}  // namespace heed::text
