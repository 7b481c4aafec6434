// The last stage on tensor maps: decoder input -> hypotheses, with the attention of every layer and head on
// request. The decoder of a pair continues from the encoder's output (/encoder), a decoder alone from the
// embeddings of a prompt (/embeddings); both are called `input` here.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "autograd/op_times.h"
#include "inspect/inspection.h"
#include "models/model.h"
#include "models/packed_states.h"
#include "stages/frame_flow.h"
#include "stages/results.h"
#include "tensor/packed_weights.h"

namespace heed {

/// A model of an ensemble, and the input of its decoder: the same sentences for all.
struct Member {
  const Model<float>* model;
  const PackedWeights<float>* weights;  ///< of the model, the same object for all frames
  const PackedStates* input;
};
/// An ensemble: the probability of a word is the mean of the models' probabilities after the same preceding
/// words (Sutskever et al. 2014, section 3.6, has ensembles; the arithmetic mean follows fairseq).
/// Inspections apply to the first model.
using Ensemble = std::span<const Member>;

struct TranslateOptions {
  /// Special ids, and those of `sample`, are the model's; more_ends and first apply to `sample` too.
  BeamOptions beam;
  bool sampling = false;
  SampleOptions sample;              ///< its `sentences` are filled in
  std::uint64_t first_sentence = 0;  ///< number of the frame's first sentence in the whole input
  /// Maximal number of new tokens; 0: twice the source length plus 20, or 50 after a prompt.
  std::int64_t max_length = 0;
  /// Forced beginnings of the translations of the frame's sentences; empty: none.
  std::vector<Ids> prefixes;
  double length_factor = 0;       ///< maximal length as a multiple of the source length instead; 0: unused
  std::int64_t empty_source = 1;  ///< number of tokens of a source without text: those around every sentence
  std::int64_t at_once = 0;       ///< search at most this many sentences of similar length together; 0: all
  bool times_ops = false;         ///< whether Search::op_times() is wanted
};

/// The decoder's input, read from a frame. Throws Error as read_encoder_states does.
PackedStates decoder_input(const TensorMap& frame, const Model<float>& model, Values wanted = Values::finite);

/// In all of these `inspection`, if given, has begun the frame and records and edits the passes. Its edits
/// also affect a search, but only force() is traced.

/// The search for the hypotheses of each sentence of the frame, whose parts are groups of sentences. An
/// empty source (of at most empty_source tokens) gives an empty translation, whatever its prefix; a prompt
/// is not part of its hypotheses.
class Search : public FrameWork {
 public:
  /// For up to `threads` threads. Throws SentenceError if a prefix leaves no room for a word.
  Search(std::vector<Member> ensemble, TranslateOptions options, int threads,
         Inspection* inspection = nullptr);
  std::int64_t parts() const override { return std::ssize(groups_); }
  void compute(std::int64_t part) override;
  /// Of each sentence, best first; when all parts are done.
  Results take_results() { return std::move(results_); }
  /// The time of the searches, when all parts are done.
  const OpTimes& op_times() const { return op_times_; }

 private:
  const std::vector<Member> ensemble_;
  const TranslateOptions options_;
  Inspection* inspection_;
  std::vector<std::int64_t> limits_;               ///< the most new tokens of each sentence
  std::vector<std::vector<std::int64_t>> groups_;  ///< sentences
  Results results_;
  OpTimes op_times_;
  std::mutex times_mutex_;
};

/// The results of a whole search.
Results translate(Ensemble ensemble, const TranslateOptions& options, int threads,
                  Inspection* inspection = nullptr);

/// Scores given targets instead (ids with final eos): one hypothesis per sentence, with the log-probability
/// of every token. score = sum / length^length_penalty. A target follows its prompt, unless `input` holds the
/// decoder's input for producing it (whole_text). `sampled`: the random numbers that each target was sampled
/// with; empty: none was sampled.
Results force(Ensemble ensemble, const std::vector<Ids>& targets, double length_penalty, int threads,
              Inspection* inspection = nullptr, const std::vector<SampleStream>& sampled = {},
              bool whole_text = false);

/// The decoder's attention weights for these hypotheses, computed in one teacher-forced pass, so that every
/// hypothesis of an n-best list has its own; a sampled one attends as it did when it was sampled. f32
/// (sentence, [rank,] layer, head, query, key): query i is the step that produces token i of the hypothesis;
/// there is a rank if `has_rank`. Groups cross_attention (key: source positions) and self_attention (key:
/// earlier target positions), each with query_length and key_length. A prompt's positions come first.
/// `whole_text`: as in force().
TensorMap decoder_attention(const Model<float>& model, const PackedStates& input, const Results& hypotheses,
                            bool has_rank, int threads, Inspection* inspection = nullptr,
                            bool whole_text = false);

}  // namespace heed
