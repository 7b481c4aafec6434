#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "decode/search.h"

namespace heed {

namespace {

struct Draw {
  std::int32_t id;
  float log_probability;  ///< under the model, untempered
};

/// Draws one id from a row of logits.
Draw draw_from(std::span<const float> logits, const SampleOptions& options, double uniform) {
  const auto allowed = [&](std::size_t i) { return may_produce(options, static_cast<std::int32_t>(i)); };
  float highest_allowed = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (allowed(i)) highest_allowed = std::max(highest_allowed, logits[i]);
  }

  struct Word {
    double weight;
    std::int32_t id;
  };
  std::vector<Word> words;
  words.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!allowed(i)) continue;
    const double weight = std::exp(static_cast<double>(logits[i] - highest_allowed) / options.temperature);
    words.push_back({weight, static_cast<std::int32_t>(i)});
  }
  if (options.top_k > 0 || options.top_p < 1) {
    std::stable_sort(words.begin(), words.end(),
                     [](const Word& a, const Word& b) { return a.weight > b.weight; });
    if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < words.size()) {
      words.resize(static_cast<std::size_t>(options.top_k));
    }
  }
  double sum = 0;
  for (const Word& w : words) sum += w.weight;
  if (options.top_p < 1) {
    double reached = 0;
    std::size_t kept = 0;
    while (kept < words.size() && (kept == 0 || reached < options.top_p * sum))
      reached += words[kept++].weight;
    words.resize(kept);
    sum = reached;
  }
  double left = uniform * sum;
  std::size_t chosen = 0;
  while (chosen + 1 < words.size() && left >= words[chosen].weight) left -= words[chosen++].weight;
  const std::int32_t id = words[chosen].id;
  return {id, static_cast<float>(log_probability(logits, id))};
}

}  // namespace

double log_probability(std::span<const float> logits, std::int32_t id) {
  const float highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - highest));
  return static_cast<double>(logits[static_cast<std::size_t>(id)] - highest) - std::log(sum);
}

std::vector<std::vector<Hypothesis>> sample(const StepFunction& step,
                                            std::span<const std::int64_t> max_lengths,
                                            const SampleOptions& options) {
  if (options.samples < 1 || options.samples > kWidestBeam) {
    fail<UsageError>("n-best is ", options.samples, ", wanted 1 to ", kWidestBeam);
  }
  if (!(options.temperature > 0))
    fail<UsageError>("temperature is ", options.temperature, ", wanted more than 0");
  if (options.top_k < 0) fail<UsageError>("top-k is ", options.top_k, ", wanted at least 0");
  if (!(options.top_p > 0 && options.top_p <= 1))
    fail<UsageError>("top-p is ", options.top_p, ", wanted within (0, 1]");

  struct Open {
    std::size_t sentence, number;
  };
  std::vector<std::vector<Hypothesis>> result(max_lengths.size());
  std::vector<Open> open;
  std::vector<std::int64_t> parents;
  for (std::size_t s = 0; s < max_lengths.size(); ++s) {
    result[s].resize(static_cast<std::size_t>(options.samples));
    for (std::size_t k = 0; k < result[s].size(); ++k) {
      const std::uint64_t sentence = options.sentences.empty() ? s : options.sentences[s];
      result[s][k].drawn = SampleStream::of(options.seed, sentence, k);
      open.push_back({s, k});
      parents.push_back(static_cast<std::int64_t>(s));
    }
  }
  while (!open.empty()) {
    std::vector<std::int32_t> tokens;
    for (const Open& o : open) {
      const auto& ids = result[o.sentence][o.number].ids;
      tokens.push_back(ids.empty() ? options.special.bos : ids.back());
    }
    const Matrix<const float> logits = step(tokens, parents).all();
    std::vector<Open> left;
    std::vector<std::int64_t> next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Hypothesis& h = result[open[i].sentence][open[i].number];
      Random random = h.drawn->at(h.ids.size());
      const auto row = static_cast<std::int64_t>(i);
      const std::span<const float> words(logits.row(row), static_cast<std::size_t>(logits.cols));
      const std::optional<GivenToken> given = given_next(options, open[i].sentence, h.ids.size());
      const Draw draw = !given ? draw_from(words, options, random.uniform())
                        : given->is_certain
                            ? Draw{given->id, 0}
                            : Draw{given->id, static_cast<float>(log_probability(words, given->id))};
      h.ids.push_back(draw.id);
      h.token_log_probability.push_back(draw.log_probability);
      h.score += draw.log_probability;
      h.finished = is_end(options, draw.id);
      h.ends_otherwise = h.finished && draw.id != options.special.eos;
      if (h.finished || static_cast<std::int64_t>(h.ids.size()) >= max_lengths[open[i].sentence]) continue;
      left.push_back(open[i]);
      next.push_back(row);
    }
    open = std::move(left);
    parents = std::move(next);
  }
  for (auto& hypotheses : result) {
    std::stable_sort(hypotheses.begin(), hypotheses.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }
  return result;
}

}  // namespace heed
