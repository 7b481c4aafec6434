#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "decode/search.h"
#include "tensor/kernels.h"

namespace heed {

namespace {

/// A possible continuation of a hypothesis.
struct Candidate {
  double total;         ///< log-probability of the whole prefix, or a sum of what stands for it
  std::int64_t parent;  ///< row of the step just made
  std::int32_t id;
  float log_probability;
  std::int64_t rank = 0;  ///< among the words of its row: larger logits may have the same log-probability
  bool cuts = false;      ///< eos is forced here, where the model prefers another word
};

/// A token of one or more hypotheses, linked to the one before it, so that what they share is stored once.
struct Link {
  std::int32_t id;
  float log_probability;
  std::int64_t before;  ///< number of the link of the token before it; -1: it is the first
};

/// A hypothesis that goes on.
struct Open {
  std::int64_t last = -1;  ///< its last link; -1: it is empty
  double total = 0;        ///< its log-probability
};

/// One sentence's share of the search.
struct Beam {
  std::size_t sentence;
  std::int64_t max_length;
  std::vector<Open> active{Open{}};
  std::int64_t length = 0;  ///< of the active ones
  std::vector<Link> links{};
  std::vector<Hypothesis> finished{};
};

class BeamSearch {
 public:
  BeamSearch(const StepFunction& step, std::span<const std::int64_t> max_lengths, const BeamOptions& options)
      : step_(step), options_(options), scored_(options.scored || options.beam > 1 || options.renormalized) {
    for (std::int64_t length : max_lengths) beams_.push_back({beams_.size(), length});
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<std::size_t> open(beams_.size());  // the sentences still searched
    std::vector<std::int64_t> parents(beams_.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i] = i;
      parents[i] = static_cast<std::int64_t>(i);
    }
    while (!open.empty()) {
      const Logits<float> logits = step_(last_tokens(open), parents);
      const std::int64_t unused = std::max<std::int64_t>(0, logits.cols() - options_.special.first_unused);
      const std::int64_t width = std::min(kept_candidates() + 3 + unused,
                                          logits.cols());  // + 3: pad, bos and unk may be among them
      best_.resize(static_cast<std::size_t>(logits.rows() * width));
      best_ids_.resize(best_.size());
      const Matrix<float> values(best_.data(), logits.rows(), width);
      const Matrix<std::int32_t> ids(best_ids_.data(), logits.rows(), width);
      if (scored_)
        logits.top_k(width, values, ids);
      else
        logits.top_k_unscored(width, values, ids);
      const bool continues =
          std::ranges::any_of(open, [&](std::size_t s) { return given(beams_[s]).has_value(); });
      const Matrix<const float> all =
          options_.renormalized || continues ? logits.all() : Matrix<const float>();
      if (options_.renormalized) renormalize(all, values);

      std::vector<std::size_t> still_open;
      std::vector<std::int64_t> next_parents;
      std::int64_t row = 0;
      for (std::size_t sentence : open) {
        Beam& beam = beams_[sentence];
        const auto rows = static_cast<std::int64_t>(beam.active.size());
        candidates_.clear();
        if (given(beam))
          candidates_.push_back(continuation_of(beam, all, row));
        else
          add_candidates(beam, values, ids, row);
        if (advance(beam, row, next_parents)) still_open.push_back(sentence);
        row += rows;
      }
      open = std::move(still_open);
      parents = std::move(next_parents);
    }
    std::vector<std::vector<Hypothesis>> result;
    for (Beam& beam : beams_) result.push_back(ranked(beam));
    return result;
  }

 private:
  std::vector<std::int32_t> last_tokens(const std::vector<std::size_t>& open) const {
    std::vector<std::int32_t> tokens;
    for (std::size_t sentence : open) {
      const Beam& beam = beams_[sentence];
      for (const Open& h : beam.active)
        tokens.push_back(h.last < 0 ? options_.special.bos : link(beam, h.last).id);
    }
    return tokens;
  }

  /// From log-probabilities among all words to those among the words that may be produced.
  void renormalize(const Matrix<const float>& logits, const Matrix<float>& values) const {
    for (std::int64_t row = 0; row < logits.rows; ++row) {
      const float gain = gain_of(logits, row);
      for (std::int64_t k = 0; k < values.cols; ++k) values(row, k) += gain;
    }
  }

  float gain_of(const Matrix<const float>& logits, std::int64_t row) const {
    const float most = *std::max_element(logits.row(row), logits.row(row) + logits.cols);
    double all = 0, produced = 0;
    for (std::int64_t id = 0; id < logits.cols; ++id) {
      const double p = std::exp(static_cast<double>(logits(row, id)) - most);
      all += p;
      if (may_produce(options_, static_cast<std::int32_t>(id))) produced += p;
    }
    return static_cast<float>(std::log(all / produced));
  }

  /// The next token, while there is a single hypothesis that is given; none: it is free.
  std::optional<GivenToken> given(const Beam& beam) const {
    return given_next(options_, beam.sentence, static_cast<std::size_t>(beam.length));
  }

  Candidate continuation_of(const Beam& beam, const Matrix<const float>& logits, std::int64_t row) const {
    const auto [id, is_certain] = *given(beam);
    if (is_certain) return {beam.active.front().total, row, id, 0};
    auto log_p =
        static_cast<float>(log_probability({logits.row(row), static_cast<std::size_t>(logits.cols)}, id));
    if (options_.renormalized) log_p += gain_of(logits, row);
    return {beam.active.front().total + log_p, row, id, log_p};
  }

  /// Enough to fill the beam even if each of its hypotheses ends in every way.
  std::int64_t kept_candidates() const { return (2 + std::ssize(options_.more_ends)) * options_.beam; }

  /// The best continuations of the sentence become the candidates, best first.
  void add_candidates(const Beam& beam, const Matrix<float>& values, const Matrix<std::int32_t>& ids,
                      std::int64_t first_row) {
    std::vector<Candidate>& all = candidates_;
    for (std::size_t h = 0; h < beam.active.size(); ++h) {
      const std::int64_t row = first_row + static_cast<std::int64_t>(h);
      if (options_.forced_eos && is_last(beam)) {
        all.push_back({beam.active[h].total, row, options_.special.eos, 0, 0, !prefers_eos(ids, row)});
        continue;
      }
      for (std::int64_t k = 0; k < values.cols; ++k) {
        const std::int32_t id = ids(row, k);
        if (!may_produce(options_, id)) continue;
        all.push_back({beam.active[h].total + values(row, k), row, id, values(row, k), k});
      }
    }
    const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(kept_candidates()));
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                      [](const Candidate& a, const Candidate& b) {
                        if (a.total != b.total) return a.total > b.total;
                        return a.parent != b.parent ? a.parent < b.parent : a.rank < b.rank;
                      });
    all.resize(kept);
  }

  /// Whether no word that may be produced is likelier than eos.
  bool prefers_eos(const Matrix<std::int32_t>& ids, std::int64_t row) const {
    const auto best = std::find_if(ids.row(row), ids.row(row) + ids.cols,
                                   [&](std::int32_t id) { return may_produce(options_, id); });
    return best != ids.row(row) + ids.cols && *best == options_.special.eos;
  }

  /// Whether no further token fits after the next one.
  static bool is_last(const Beam& beam) { return beam.length + 1 >= beam.max_length; }

  static const Link& link(const Beam& beam, std::int64_t number) {
    return beam.links[static_cast<std::size_t>(number)];
  }

  /// Moves the sentence one token on, by the candidates; false when it is done.
  bool advance(Beam& beam, std::int64_t first_row, std::vector<std::int64_t>& parents) {
    const bool last = is_last(beam);
    const auto enough = static_cast<std::size_t>(options_.beam), passed_on = parents.size();
    ++beam.length;
    next_.clear();
    for (std::size_t rank = 0; rank < candidates_.size(); ++rank) {
      const Candidate& c = candidates_[rank];
      const bool ends = is_end(options_, c.id);
      // An ending below the beam's width would not have been kept as a continuation either.
      if ((ends || (last && seeks_best())) && rank >= enough) continue;
      if (!ends && next_.size() == enough) continue;
      beam.links.push_back(
          {c.id, c.log_probability, beam.active[static_cast<std::size_t>(c.parent - first_row)].last});
      const Open h{std::ssize(beam.links) - 1, c.total};
      if (ends) {
        finish(beam, h, !c.cuts);
      } else {
        next_.push_back(h);
        parents.push_back(c.parent);
      }
    }
    const bool goes_on =
        !next_.empty() && (beam.finished.size() < enough || can_improve(beam, next_.front()));
    if (goes_on && !last) {
      beam.active.swap(next_);
      return true;
    }
    if (goes_on)
      for (const Open& h : next_) finish(beam, h, false);
    parents.resize(passed_on);
    return false;
  }

  bool seeks_best() const { return options_.stop == StopRule::kBest && options_.beam > 1; }

  double score_of(const Beam& beam, const Open& h) const {
    return h.total / std::pow(static_cast<double>(beam.length), options_.length_penalty);
  }

  /// Whether the best open hypothesis would be among the best ended ones if it ended now.
  bool can_improve(Beam& beam, const Open& best) const {
    if (!seeks_best()) return false;
    const auto worst = beam.finished.begin() + static_cast<std::ptrdiff_t>(options_.beam - 1);
    std::ranges::nth_element(beam.finished, worst, std::ranges::greater(), &Hypothesis::score);
    return score_of(beam, best) > worst->score;
  }

  void finish(Beam& beam, const Open& open, bool finished) const {
    Hypothesis h;
    const auto length = static_cast<std::size_t>(beam.length);
    h.ids.resize(length);
    h.token_log_probability.resize(length);
    std::int64_t at = open.last;
    for (std::size_t i = length; i-- > 0; at = link(beam, at).before) {
      h.ids[i] = link(beam, at).id;
      h.token_log_probability[i] = link(beam, at).log_probability;
    }
    h.score = score_of(beam, open);
    h.finished = finished;
    h.ends_otherwise = is_end(options_, h.ids.back()) && h.ids.back() != options_.special.eos;
    beam.finished.push_back(std::move(h));
  }

  /// Best first; hypotheses that end, of their own or by a forced eos, come before those cut, unless it is the best
  /// that is sought.
  std::vector<Hypothesis> ranked(Beam& beam) const {
    const bool apart = !seeks_best() && !options_.forced_eos;
    std::stable_sort(beam.finished.begin(), beam.finished.end(),
                     [&](const Hypothesis& a, const Hypothesis& b) {
                       return apart && a.finished != b.finished ? a.finished : a.score > b.score;
                     });
    if (beam.finished.size() > static_cast<std::size_t>(options_.n_best)) {
      beam.finished.resize(static_cast<std::size_t>(options_.n_best));
    }
    return std::move(beam.finished);
  }

  const StepFunction& step_;
  const BeamOptions& options_;
  bool scored_;
  std::vector<Beam> beams_;
  std::vector<Candidate> candidates_;  ///< of the sentence that moves on
  std::vector<Open> next_;             ///< its hypotheses that go on
  std::vector<float> best_;
  std::vector<std::int32_t> best_ids_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const StepFunction& step,
                                                 std::span<const std::int64_t> max_lengths,
                                                 const BeamOptions& options) {
  if (options.beam < 1 || options.beam > kWidestBeam) {
    fail<UsageError>("beam is ", options.beam, ", wanted 1 to ", kWidestBeam);
  }
  if (options.n_best < 1 || options.n_best > options.beam) {
    fail<UsageError>("n-best is ", options.n_best, ", wanted 1 to the beam's ", options.beam);
  }
  for (std::int64_t length : max_lengths) {
    if (length < 1) fail<UsageError>("max-length is ", length, ", wanted at least 1");
  }
  return BeamSearch(step, max_lengths, options).run();
}

}  // namespace heed
