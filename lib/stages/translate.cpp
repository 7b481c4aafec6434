#include "stages/translate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "autograd/ops_recurrent.h"
#include "base/sentence_error.h"
#include "models/hypotheses.h"
#include "models/shards.h"
#include "nn/recording.h"
#include "stages/given.h"
#include "tensor/padding.h"

namespace heed {

PackedStates decoder_input(const TensorMap& frame, const Model<float>& model, Values wanted) {
  return model.encoder ? memory_of(frame, model, wanted)
                       : read_embeddings(frame, model, Side::target, wanted);
}

namespace {

/// The default number of new tokens after a prompt.
constexpr std::int64_t kUsualContinuation = 50;

using SentenceNumbers = std::vector<std::int64_t>;

/// Groups of sentences that are searched together: an empty source has nothing to translate, an empty prompt
/// can be continued. If grouping changes no bit there is one group per thread, with sentences of all lengths,
/// so that steps have many rows and no thread is without work at the end of a text; with more than `at_once`
/// sentences per thread, the sentences of a group have equal lengths, the longest first, so that steps have many rows
/// to the end, and there are as many groups for each thread.
/// Otherwise the groups are the shards.
std::vector<SentenceNumbers> searched(Ensemble ensemble, std::int64_t empty_source, std::int64_t at_once,
                                      int threads) {
  const Model<float>& model = *ensemble.front().model;
  const Packing& rows = ensemble.front().input->rows;
  SentenceNumbers all = SentenceRange{0, rows.sentences()}.numbers();
  if (model.encoder) std::erase_if(all, [&](std::int64_t s) { return rows.length(s) <= empty_source; });
  const bool apart = std::ranges::all_of(
      ensemble, [](const Member& member) { return member.model->needed_decoder().sizes().rows_apart; });
  const std::int64_t shards = shards_of(rows.sentences());
  const std::int64_t for_threads = std::clamp<std::int64_t>(shards, 1, threads);
  std::int64_t limited = at_once > 0 ? (std::ssize(all) + at_once - 1) / at_once : 0;
  limited = (limited + for_threads - 1) / for_threads * for_threads;
  const bool by_length = apart && limited > for_threads;
  std::vector<SentenceNumbers> groups(static_cast<std::size_t>(by_length ? limited
                                                               : apart   ? for_threads
                                                                         : shards));
  if (apart) std::ranges::stable_sort(all, std::greater<>(), [&](std::int64_t s) { return rows.length(s); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t group = by_length ? i * groups.size() / all.size()
                              : apart   ? i % groups.size()
                                        : static_cast<std::size_t>(all[i] / kShardSentences);
    groups[group].push_back(all[i]);
  }
  std::erase_if(groups, [](const SentenceNumbers& group) { return group.empty(); });
  return groups;
}

std::int64_t length_limit(const Model<float>& model, const TranslateOptions& options, std::int64_t sentence,
                          std::int64_t input_length) {
  const std::int64_t most = model.needed_decoder().sizes().max_length;
  std::int64_t asked = options.max_length;
  if (asked == 0 && options.length_factor > 0)
    asked =
        std::max<std::int64_t>(1, std::llround(options.length_factor * static_cast<double>(input_length)));
  if (model.encoder) {
    if (asked == 0) return usual_max_length(input_length, most);
    return most > 0 ? std::min(asked, most) : asked;
  }
  // The first new token comes from the prompt's last row.
  const std::int64_t left = most > 0 ? most - input_length + 1 : kUsualContinuation;
  if (left < 1)
    throw SentenceError(
        sentence, concat("a prompt of ", input_length, " tokens fills the model's max_length = ", most));
  return most > 0 ? std::min(asked > 0 ? asked : kUsualContinuation, left) : std::max(asked, left);
}

/// The steps of a search by one model. After a prompt, which is read at once, the first step's bos is part of
/// the prompt.
class Steps {
 public:
  Steps(const Model<float>& model, const PackedWeights<float>& weights, const Encoded<float>& input,
        Pass<float>& pass, const std::vector<SampleStream>& streams, OpTimes* times)
      : hypotheses_(model, weights, input.rows->sentences(), model.encoder ? &input : nullptr, pass.editor,
                    streams, times) {
    if (model.encoder) return;
    after_prompt_ =
        hypotheses_.read(named_embeddings(pass, input.states, *input.rows).value(), *input.rows).all();
  }

  Logits<float> operator()(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
    if (!after_prompt_.data) return hypotheses_.read(tokens, parents);
    first_.clear();
    for (const std::int64_t parent : parents)
      first_.insert(first_.end(), after_prompt_.row(parent), after_prompt_.row(parent) + after_prompt_.cols);
    hypotheses_.select(parents);
    const Matrix<const float> logits(first_.data(), static_cast<std::int64_t>(parents.size()),
                                     after_prompt_.cols);
    after_prompt_ = {};
    return logits;
  }

 private:
  Hypotheses<float> hypotheses_;
  Matrix<const float> after_prompt_;  ///< logits, until the first step has used them
  std::vector<float> first_;
};

/// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(std::min(a, b) - std::max(a, b)));
}

/// The steps of all models of an ensemble for some of the sentences.
class JointSteps {
 public:
  JointSteps(Ensemble ensemble, const SentenceNumbers& sentences, Inspection* inspection,
             const std::vector<SampleStream>& streams, OpTimes* times) {
    for (const Member& member : ensemble)
      parts_.push_back(
          std::make_unique<Part>(member, sentences, parts_.empty() ? inspection : nullptr, streams, times));
  }

  Logits<float> operator()(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
    if (parts_.size() == 1) return parts_.front()->steps(tokens, parents);
    for (const auto& part : parts_) {
      const Matrix<const float> logits = part->steps(tokens, parents).all();
      std::vector<float> sums(static_cast<std::size_t>(logits.rows));
      log_sum_exp_rows<float>(logits, sums);
      const bool first = part == parts_.front();
      if (first) joint_.resize(static_cast<std::size_t>(logits.size()));
      std::size_t at = 0;
      for (std::int64_t row = 0; row < logits.rows; ++row) {
        for (std::int64_t id = 0; id < logits.cols; ++id, ++at) {
          const float log_p = logits(row, id) - sums[static_cast<std::size_t>(row)];
          joint_[at] = first ? log_p : static_cast<float>(log_sum(joint_[at], log_p));
        }
      }
    }
    // The sum gives the logits of the mean: a softmax ignores the factor between them.
    const auto rows = static_cast<std::int64_t>(parents.size());
    return Matrix<const float>(joint_.data(), rows, static_cast<std::int64_t>(joint_.size()) / rows);
  }

 private:
  struct Part {
    Part(const Member& member, const SentenceNumbers& sentences, Inspection* inspection,
         const std::vector<SampleStream>& streams, OpTimes* times)
        : chosen(*member.input, sentences),
          pass(*member.model, inspection, sentences),
          encoded(chosen.on(pass)),
          steps(*member.model, *member.weights, encoded, pass, streams, times) {}
    Selection chosen;
    InspectedPass pass;
    Encoded<float> encoded;
    Steps steps;
  };
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<float> joint_;
};

/// The most new tokens of each sentence.
std::vector<std::int64_t> length_limits(Ensemble ensemble, const TranslateOptions& options) {
  const Model<float>& model = *ensemble.front().model;
  const Packing& rows = ensemble.front().input->rows;
  std::vector<std::int64_t> limits;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();
    for (const Member& member : ensemble)
      limit = std::min(limit, length_limit(*member.model, options, s, rows.length(s)));
    limits.push_back(limit);
    const bool is_searched = !model.encoder || rows.length(s) > options.empty_source;
    if (options.prefixes.empty() || !is_searched) continue;
    const std::int64_t given = std::ssize(options.prefixes[static_cast<std::size_t>(s)]);
    const bool has_first = options.beam.first != SpecialIds::kAbsent;
    if (given + has_first >= limit)
      throw SentenceError(s, concat("its prefix of ", count_of(given, "token"),
                                    has_first ? ", after the token that begins every result," : "",
                                    " fills the maximal length of ", limit,
                                    ": --max-length allows more, as far as the model does"));
  }
  return limits;
}

}  // namespace

Search::Search(std::vector<Member> ensemble, TranslateOptions options, int threads, Inspection* inspection)
    : ensemble_(std::move(ensemble)),
      options_(std::move(options)),
      inspection_(inspection),
      limits_(length_limits(ensemble_, options_)),
      groups_(searched(ensemble_, options_.empty_source, options_.at_once, threads)) {
  const Hypothesis empty{{ensemble_.front().model->target_special.eos}, {0.0f}, 0.0, true, {}};
  results_.assign(limits_.size(), {empty});
}

void Search::compute(std::int64_t part) {
  const SentenceNumbers& sentences = groups_[static_cast<std::size_t>(part)];
  std::vector<std::int64_t> max_lengths;
  for (std::int64_t s : sentences) max_lengths.push_back(limits_[static_cast<std::size_t>(s)]);
  SampleOptions sampling = options_.sample;
  BeamOptions beam = options_.beam;
  sampling.special = beam.special = ensemble_.front().model->searched();
  sampling.more_ends = beam.more_ends;
  sampling.first = beam.first;
  std::vector<SampleStream> sampled;
  for (std::size_t i = 0; options_.sampling && i < sentences.size(); ++i) {
    sampling.sentences.push_back(options_.first_sentence + static_cast<std::uint64_t>(sentences[i]));
    sampled.push_back(SampleStream::of(sampling.seed, sampling.sentences.back(), 0));
  }
  for (const std::int64_t s : sentences) {
    if (!options_.prefixes.empty()) beam.prefixes.push_back(options_.prefixes[static_cast<std::size_t>(s)]);
  }
  sampling.prefixes = beam.prefixes;
  Results found;
  OpTimes times;
  renumbering(
      [&](std::int64_t i) { return sentences[static_cast<std::size_t>(i)]; },
      [&] {
        JointSteps steps(ensemble_, sentences, inspection_, sampled, options_.times_ops ? &times : nullptr);
        const StepFunction step = [&](auto tokens, auto parents) { return steps(tokens, parents); };
        found =
            options_.sampling ? sample(step, max_lengths, sampling) : beam_search(step, max_lengths, beam);
      });
  for (std::size_t i = 0; i < found.size(); ++i)
    results_[static_cast<std::size_t>(sentences[i])] = std::move(found[i]);
  if (!options_.times_ops) return;
  const std::lock_guard guard(times_mutex_);
  op_times_.add(times);
}

Results translate(Ensemble ensemble, const TranslateOptions& options, int threads, Inspection* inspection) {
  Search search({ensemble.begin(), ensemble.end()}, options, threads, inspection);
  search.run(threads);
  return search.take_results();
}

namespace {

/// Records decoder/logits and decoder/probabilities where they are wanted.
void name_outputs(InferencePass& pass, Matrix<const float> logits, std::span<const float> log_sums,
                  const Packing& rows) {
  const Scope<float> decoder = Scope<float>(pass) / "decoder";
  if (decoder.wants("logits")) decoder.name("logits", pass.tape->constant(logits), rows);
  if (!decoder.wants("probabilities")) return;
  std::vector<float> p(static_cast<std::size_t>(logits.size()));
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    for (std::int64_t j = 0; j < logits.cols; ++j)
      p[static_cast<std::size_t>(i * logits.cols + j)] =
          std::exp(logits(i, j) - log_sums[static_cast<std::size_t>(i)]);
  }
  decoder.name("probabilities", pass.tape->constant({p.data(), logits.rows, logits.cols}), rows);
}

/// The score of a hypothesis with known log-probabilities of its tokens.
void add_score(Hypothesis& h, double length_penalty) {
  h.score = 0;
  for (const float log_p : h.token_log_probability) h.score += log_p;
  h.score /= std::pow(static_cast<double>(h.ids.size()), length_penalty);
}

Results force_alone(const Member& member, const std::vector<Ids>& targets, double length_penalty, int threads,
                    Inspection* inspection, const std::vector<SampleStream>& sampled, bool whole_text) {
  const Model<float>& model = *member.model;
  const PackedStates& input = *member.input;
  if (static_cast<std::int64_t>(targets.size()) != input.rows.sentences()) {
    fail("there are ", targets.size(), " targets for ", input.rows.sentences(), " source sentences");
  }
  Results result(targets.size());
  for_each_shard(input.rows.sentences(), threads, [&](SentenceRange range) {
    InspectedPass pass(model, inspection, range.numbers());
    std::vector<SampleStream> streams;
    if (!sampled.empty())
      streams.assign(sampled.begin() + range.first, sampled.begin() + range.first + range.count);
    const Selection shard(input, range.numbers());
    PackedTokens target;
    for (std::int64_t s = 0; s < range.count; ++s)
      target.append(targets[static_cast<std::size_t>(range.first + s)]);
    const Given given = read_given(pass, model, shard.on(pass), target, streams, whole_text);
    const Matrix<const float> logits = model.needed_words().logits(pass, given.states).value();
    std::vector<float> sums(static_cast<std::size_t>(logits.rows));
    log_sum_exp_rows<float>(logits, sums);
    name_outputs(pass, logits, sums, given.rows);
    pass.keep();
    for (std::int64_t s = 0; s < range.count; ++s) {
      Hypothesis h;
      h.ids = targets[static_cast<std::size_t>(range.first + s)];
      h.finished = true;
      for (std::int64_t i = target.rows.offset(s); i < target.rows.offset(s + 1); ++i) {
        const std::int64_t row = given.last[static_cast<std::size_t>(i)].row;
        const float log_probability =
            logits(row, target.ids[static_cast<std::size_t>(i)]) - sums[static_cast<std::size_t>(row)];
        h.token_log_probability.push_back(log_probability);
      }
      add_score(h, length_penalty);
      result[static_cast<std::size_t>(range.first + s)] = {std::move(h)};
    }
  });
  return result;
}

}  // namespace

Results force(Ensemble ensemble, const std::vector<Ids>& targets, double length_penalty, int threads,
              Inspection* inspection, const std::vector<SampleStream>& sampled, bool whole_text) {
  Results result =
      force_alone(ensemble.front(), targets, length_penalty, threads, inspection, sampled, whole_text);
  if (ensemble.size() == 1) return result;
  for (const Member& member : ensemble.subspan(1)) {
    const Results other = force_alone(member, targets, length_penalty, threads, nullptr, sampled, whole_text);
    for (std::size_t s = 0; s < result.size(); ++s) {
      for (std::size_t i = 0; i < targets[s].size(); ++i) {
        float& sum = result[s].front().token_log_probability[i];
        sum = static_cast<float>(log_sum(sum, other[s].front().token_log_probability[i]));
      }
    }
  }
  for (auto& list : result) {
    Hypothesis& h = list.front();
    for (float& log_p : h.token_log_probability)
      log_p -= static_cast<float>(std::log(static_cast<double>(ensemble.size())));
    add_score(h, length_penalty);
  }
  return result;
}

namespace {

/// A hypothesis and its place.
struct Produced {
  std::int64_t sentence, rank;
  const Hypothesis* hypothesis;
};

std::string layer_name(std::int64_t layer, const std::string& attention) {
  return "decoder/layer_" + std::to_string(layer) + "/" + attention + "/weights";
}

}  // namespace

TensorMap decoder_attention(const Model<float>& model, const PackedStates& input, const Results& hypotheses,
                            bool has_rank, int threads, Inspection* inspection, bool whole_text) {
  const DecoderSizes& sizes = model.needed_decoder().sizes();
  // A decoder alone also reads the prompt, whose last row gives the first token.
  auto before = [&](std::int64_t sentence) {
    return model.encoder || whole_text ? 0 : input.rows.length(sentence) - 1;
  };
  const Ranked ranked(hypotheses, has_rank);
  std::int64_t longest = 1;
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    for (const Hypothesis& h : hypotheses[s])
      longest =
          std::max(longest, static_cast<std::int64_t>(h.ids.size()) + before(static_cast<std::int64_t>(s)));
  }
  const std::int64_t sentences = input.rows.sentences(), heads = sizes.n_heads;
  const std::int64_t first_cross = sizes.cross_attends() ? sizes.first_attending_layer : sizes.n_layers,
                     first_self = sizes.self_attends ? 0 : sizes.n_layers;
  auto weights = [&](std::int64_t first_layer, std::int64_t keys) {
    return ranked.zeros<float>({sizes.n_layers - first_layer, heads, longest, keys},
                               {"layer", "head", "query", "key"});
  };
  Tensor cross = weights(first_cross, input.rows.longest()), self = weights(first_self, longest);
  Tensor query_length = ranked.zeros<std::int32_t>({}, {});

  for_each_shard(sentences, threads, [&](SentenceRange range) {
    std::vector<Produced> list;
    PackedTokens target;
    std::vector<std::int64_t> sources;  // a sentence once for each of its hypotheses
    for (std::int64_t s = range.first; s < range.first + range.count; ++s) {
      for (const Hypothesis& h : hypotheses[static_cast<std::size_t>(s)]) {
        const auto rank = &h - hypotheses[static_cast<std::size_t>(s)].data();
        list.push_back({s, rank, &h});
        target.append(h.ids);
        sources.push_back(s);
        query_length.values<std::int32_t>()[static_cast<std::size_t>(s * ranked.ranks + rank)] =
            static_cast<std::int32_t>(h.ids.size()) + static_cast<std::int32_t>(before(s));
      }
    }
    if (list.empty()) return;
    std::set<std::string> names;
    for (std::int64_t l = first_cross; l < sizes.n_layers; ++l)
      names.insert(layer_name(l, "cross_attention"));
    for (std::int64_t l = first_self; l < sizes.n_layers; ++l) names.insert(layer_name(l, "self_attention"));
    InspectedPass pass(model, inspection, sources,
                       [&](const std::string& name) { return names.contains(name); });
    std::vector<SampleStream> streams;
    if (std::any_of(list.begin(), list.end(), [](const Produced& p) { return p.hypothesis->drawn; }))
      for (const Produced& p : list) streams.push_back(p.hypothesis->drawn.value_or(SampleStream{}));
    const Selection chosen(input, sources);
    read_given(pass, model, chosen.on(pass), target, streams, whole_text);
    const Recording<float>& recording = pass.recorded();
    auto keep = [&](const std::string& attention, std::int64_t first, Tensor& tensor) {
      for (std::int64_t l = first; l < sizes.n_layers; ++l) {
        const Recorded<float>& recorded = recording.at(layer_name(l, attention));
        for (std::size_t i = 0; i < list.size(); ++i) {
          for (std::int64_t h = 0; h < heads; ++h)
            copy_rows(recorded.block(static_cast<std::int64_t>(i), h),
                      matrix_at<float>(tensor, ranked.at(list[i].sentence, list[i].rank, {l - first, h})));
        }
      }
    };
    keep("cross_attention", first_cross, cross);
    keep("self_attention", first_self, self);
  });

  TensorMap map;
  if (sizes.cross_attends())
    add_attention(map, "cross_attention", "cross",
                  model.images ? "Attention of the caption over the image"
                               : "Attention of the translation over the source",
                  std::move(cross), query_length, lengths_of(input.rows));
  if (sizes.self_attends)
    add_attention(
        map, "self_attention", "decoder_self",
        model.encoder ? "Attention of the translation over its past" : "Attention of the text over its past",
        std::move(self), query_length, query_length);
  return map;
}

}  // namespace heed
