// Search for a translation: greedy and beam search, and sampling. It calls only a function from prefixes
// to the next word's logits, so it knows no model. All sentences advance together, one call per step;
// finished sentences leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/special_ids.h"
#include "tensor/logits.h"
#include "tensor/sample_stream.h"

namespace heed {

/// Hypothesis i continues hypothesis parents[i] of the previous call (in the first call: sentence parents[i])
/// by tokens[i]. Hypotheses of one sentence are adjacent; those left out are dropped. Returns logits [n,
/// vocabulary].
using StepFunction =
    std::function<Logits<float>(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents)>;

/// The default maximal length of a translation: twice the source's length plus 20, within the model's limit
/// (0: none).
inline std::int64_t usual_max_length(std::int64_t source_length, std::int64_t model_limit) {
  const std::int64_t length = 2 * source_length + 20;
  return model_limit > 0 ? std::min(length, model_limit) : length;
}

/// More hypotheses of one sentence than this are refused: a mistyped number should not exhaust the memory.
inline constexpr std::int64_t kWidestBeam = 1000;

struct Hypothesis {
  std::vector<std::int32_t> ids;  ///< with the final eos or other end, unless truncated without a forced one
  std::vector<float> token_log_probability;  ///< log p(ids[i] | earlier ids)
  double score = 0;                          ///< sum of the above / length^length_penalty
  bool finished = false;                     ///< false: cut at the maximal length, even with a forced eos
  std::optional<SampleStream> drawn;         ///< the random numbers it was sampled with; none: not sampled
  bool ends_otherwise = false;  ///< the last id is an end other than eos, and not part of the text
};

/// When the search for a sentence ends before its maximal length. kFilled: `beam` hypotheses have ended.
/// kBest: `beam` have, and the best open one, scored at its present length, is no better than the worst of
/// the best `beam` of them; then those truncated at the maximal length compete with them (transformers'
/// generate with early_stopping = False).
enum class StopRule { kFilled, kBest };

struct BeamOptions {
  std::int64_t beam = 1;      ///< 1: greedy
  std::int64_t n_best = 1;    ///< at most beam
  double length_penalty = 1;  ///< exponent of the length (eos counted) that divides the score; 0: none
  SpecialIds special;         ///< only ids for which produced() holds are produced
  StopRule stop = StopRule::kFilled;  ///< always kFilled for a beam of 1
  /// The last token that the maximal length allows is eos, with probability 1; it is ranked like an ended
  /// hypothesis.
  bool forced_eos = false;
  /// Whether scores and log-probabilities are wanted. Without them a beam of 1 finds the same for less; they are finite
  /// then if they would have been, and mean nothing else.
  bool scored = true;
  bool renormalized = false;  ///< normalise probabilities over the words that may be produced
  /// Ids that end a hypothesis as eos does; they may be produced.
  std::vector<std::int32_t> more_ends{};
  /// The first token of every hypothesis, with probability 1: in models of many languages the target's;
  /// kAbsent: none.
  std::int32_t first = SpecialIds::kAbsent;
  /// Forced beginnings of the hypotheses of each sentence, after `first`, shorter than its maximal length;
  /// empty: none.
  std::vector<std::vector<std::int32_t>> prefixes{};
};

/// For each sentence its n_best hypotheses, best first; sentence i gets at most max_lengths[i] tokens. A
/// sentence ends when it has `beam` finished hypotheses, or at its maximal length. Ties go to the earlier
/// hypothesis, then to the larger logit and the lower id. Throws UsageError on impossible options.
std::vector<std::vector<Hypothesis>> beam_search(const StepFunction& step,
                                                 std::span<const std::int64_t> max_lengths,
                                                 const BeamOptions& options);

struct SampleOptions {
  std::int64_t samples = 1;  ///< for each sentence
  double temperature = 1;    ///< divides the logits; > 0
  std::int64_t top_k = 0;    ///< only the k most likely words; 0: all
  double top_p = 1;          ///< only the most likely words that together reach this probability
  std::uint64_t seed = 0;
  /// The number of each sentence in the whole input, so that its draws do not depend on its neighbours;
  /// empty: 0, 1, ...
  std::vector<std::uint64_t> sentences;
  SpecialIds special;
  // As in BeamOptions:
  std::vector<std::int32_t> more_ends{};
  std::int32_t first = SpecialIds::kAbsent;
  std::vector<std::vector<std::int32_t>> prefixes{};
};

/// A token that a hypothesis cannot choose.
struct GivenToken {
  std::int32_t id;
  bool is_certain = false;  ///< has the probability 1, whatever the model says
};
/// The token with which a hypothesis of `sentence` has to continue after `length` tokens; none: it is free.
template <class Options>
std::optional<GivenToken> given_next(const Options& options, std::size_t sentence, std::size_t length) {
  if (options.first != SpecialIds::kAbsent && length-- == 0) return GivenToken{options.first, true};
  if (options.prefixes.empty() || length >= options.prefixes[sentence].size()) return std::nullopt;
  return GivenToken{options.prefixes[sentence][length]};
}

/// log softmax(logits)[id]
double log_probability(std::span<const float> logits, std::int32_t id);

/// Whether `id` ends a hypothesis, and whether it may be a part of one at all.
template <class Options>
bool is_end(const Options& options, std::int32_t id) {
  return id == options.special.eos || std::ranges::find(options.more_ends, id) != options.more_ends.end();
}
template <class Options>
bool may_produce(const Options& options, std::int32_t id) {
  return options.special.produced(id) || is_end(options, id);
}

/// Draws hypotheses from the model's (tempered, cut) distribution, most likely first. Log-probabilities are
/// the model's own, untempered. Throws UsageError on impossible options.
std::vector<std::vector<Hypothesis>> sample(const StepFunction& step,
                                            std::span<const std::int64_t> max_lengths,
                                            const SampleOptions& options);

}  // namespace heed
