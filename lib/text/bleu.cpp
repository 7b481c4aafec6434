#include "text/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "base/error.h"
#include "base/version.h"
#include "text/scheme.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Counts = std::unordered_map<std::string_view, std::int64_t>;
using CountsByOrder = std::array<Counts, kBleuOrder>;

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

std::string isolate_punctuation(std::string_view line) {
  std::string out;
  for (char c : line) {
    if (stands_alone(c)) {
      out += ' ';
      out += c;
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
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
  std::string joined;
  for (std::string_view word : split_white_space(line)) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

/// The n-grams of a sentence of words with single spaces between: an n-gram is a piece of the sentence.
CountsByOrder ngrams(std::string_view sentence, std::size_t& words) {
  std::vector<std::string_view> list = split_any(sentence, " ");
  words = list.size();
  CountsByOrder counts;
  for (std::size_t n = 1; n <= kBleuOrder; ++n) {
    for (std::size_t i = 0; i + n <= list.size(); ++i) {
      const char* begin = list[i].data();
      const char* end = list[i + n - 1].data() + list[i + n - 1].size();
      ++counts[n - 1][std::string_view(begin, static_cast<std::size_t>(end - begin))];
    }
  }
  return counts;
}

/// The length closest to that of the hypothesis; of two equally close ones the smaller.
std::size_t closest(const std::vector<std::size_t>& lengths, std::size_t wanted) {
  auto distance = [&](std::size_t length) { return length > wanted ? length - wanted : wanted - length; };
  return *std::min_element(lengths.begin(), lengths.end(), [&](std::size_t a, std::size_t b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
  });
}

double smooth_value(const BleuOptions& options) {
  if (options.smooth_value >= 0) return options.smooth_value;
  return options.smooth == "floor" ? 0.1 : 1.0;
}

std::string signature(const BleuOptions& options, std::size_t references) {
  std::string smooth = options.smooth;
  if (smooth == "floor" || smooth == "add-k") {
    char value[32];
    std::snprintf(value, sizeof value, "[%.2f]", smooth_value(options));
    smooth += value;
  }
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
  text = isolate_punctuation(text);
  text = rewrite_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_period_or_comma(b); },
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
  char text[256];
  double ratio = reference_length > 0
                     ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length)
                     : 0;
  std::snprintf(text, sizeof text,
                "%.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", precisions[0],
                precisions[1], precisions[2], precisions[3], brevity_penalty, ratio,
                static_cast<long long>(hypothesis_length), static_cast<long long>(reference_length));
  return text;
}

Bleu::Bleu(BleuOptions options) : options_(std::move(options)) {}

std::string Bleu::prepare(const std::string& sentence) const {
  std::string text = options_.lowercase ? to_lower(sentence) : sentence;
  return options_.tokenize == "13a" ? tokenize_13a(text) : join_words(text);
}

void Bleu::add(const std::string& hypothesis, std::span<const std::string> references) {
  if (references.empty()) fail("BLEU needs a reference");
  references_ = references.size();
  std::vector<std::string> texts;
  for (const std::string& reference : references) texts.push_back(prepare(reference));
  CountsByOrder allowed;  // the largest count of each n-gram in any reference
  std::vector<std::size_t> lengths(texts.size());
  for (std::size_t r = 0; r < texts.size(); ++r) {
    CountsByOrder counts = ngrams(texts[r], lengths[r]);
    for (int n = 0; n < kBleuOrder; ++n) {
      for (const auto& [ngram, count] : counts[n]) {
        std::int64_t& most = allowed[n][ngram];
        most = std::max(most, count);
      }
    }
  }
  std::string text = prepare(hypothesis);
  std::size_t length = 0;
  CountsByOrder counts = ngrams(text, length);
  for (int n = 0; n < kBleuOrder; ++n) {
    for (const auto& [ngram, count] : counts[n]) {
      auto it = allowed[n].find(ngram);
      total_[n] += count;
      if (it != allowed[n].end()) correct_[n] += std::min(count, it->second);
    }
  }
  hypothesis_length_ += static_cast<std::int64_t>(length);
  reference_length_ += static_cast<std::int64_t>(closest(lengths, length));
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
  double halving = 1;
  int order = kBleuOrder;
  for (int n = 0; n < kBleuOrder; ++n) {
    double correct = static_cast<double>(correct_[n]), total = static_cast<double>(total_[n]);
    if (options_.smooth == "add-k" && n > 0) {
      correct += k;
      total += k;
    }
    if (total == 0) break;
    if (options_.effective_order) order = n + 1;
    if (correct > 0) {
      result.precisions[n] = 100 * correct / total;
    } else if (options_.smooth == "exp") {
      halving *= 2;
      result.precisions[n] = 100 / (halving * total);
    } else if (options_.smooth == "floor") {
      result.precisions[n] = 100 * k / total;
    }
  }
  double sum = 0;
  for (int n = 0; n < order; ++n) sum += floored_log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(sum / order);
  return result;
}

BleuScore corpus_bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                      const BleuOptions& options) {
  if (hypotheses.size() != references.size()) {
    fail("BLEU: ", hypotheses.size(), " hypotheses and ", references.size(), " references");
  }
  Bleu bleu(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) bleu.add(hypotheses[i], {&references[i], 1});
  return bleu.score();
}

}  // namespace heed::text
