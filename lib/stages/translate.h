// The last stage on tensor maps: what a decoder continues from -> hypotheses, with the attention of every
// layer and head when asked for. A decoder of a pair continues from the encoder's output (/encoder), one
// alone from the embeddings of a prompt (/embeddings); both are `input` here.
#pragma once

#include <span>
#include <vector>

#include "autograd/op_times.h"
#include "inspect/inspection.h"
#include "models/model.h"
#include "models/packed_states.h"
#include "stages/results.h"
#include "tensor/packed_weights.h"

namespace heed {

/// A model of those that decode together, and what its decoder continues from: the same sentences for all.
struct Member {
  const Model<float>* model;
  const PackedWeights<float>* weights;  ///< of the model, the same object for all frames
  const PackedStates* input;
};
/// Several are an ensemble: the probability of a word is the mean of theirs, after the same words before it (Sutskever et al.
/// 2014, section 3.6, has ensembles; that it is the arithmetic mean is fairseq's choice). Inspections are of the first.
using Ensemble = std::span<const Member>;

struct TranslateOptions {
  BeamOptions
      beam;  ///< its special ids, and those of `sample`, are the model's; its more_ends are those of `sample` too
  bool sampling = false;
  SampleOptions sample;              ///< its `sentences` are filled in
  std::uint64_t first_sentence = 0;  ///< number of the frame's first sentence in the whole input
  /// New tokens; 0: twice the source length and 20 more, or 50 after a prompt.
  std::int64_t max_length = 0;
  /// What the translations of the frame's sentences begin with; empty: anything.
  std::vector<Ids> prefixes;
  double length_factor = 0;       ///< so many times the source length instead; 0: not
  std::int64_t empty_source = 1;  ///< number of tokens of a source without text: those around every sentence
  std::int64_t at_once = 0;  ///< search no more sentences together than this, of about equal length; 0: all
  OpTimes* op_times = nullptr;  ///< unless null, receives where the searches spent their time
};

/// What the model's decoder continues from, read from a frame. Throws Error as read_encoder_states does.
PackedStates decoder_input(const TensorMap& frame, const Model<float>& model, Values wanted = Values::finite);

/// In all of these `inspection`, if given, has begun the frame and records and edits the passes. Its edits
/// change a search too, but only force() is traced.

/// For each sentence of the frame its hypotheses, best first. An empty source (of at most empty_source tokens) gives an
/// empty translation; a prompt is not part of its hypotheses.
/// Throws SentenceError when a prefix leaves no room for a word. An empty source is not searched, whatever its prefix.
Results translate(Ensemble ensemble, const TranslateOptions& options, int threads,
                  Inspection* inspection = nullptr);

/// Scores given targets instead (ids with final eos): one hypothesis a sentence, with the log-probability
/// of every token. score = sum / length^length_penalty. A target follows its prompt, unless `input` holds
/// what the decoder reads to produce it (whole_text). `sampled`: the draws by which each target was
/// sampled; empty: none was.
Results force(Ensemble ensemble, const std::vector<Ids>& targets, double length_penalty, int threads,
              Inspection* inspection = nullptr, const std::vector<SampleStream>& sampled = {},
              bool whole_text = false);

/// The decoder's attention weights for these hypotheses, computed in one teacher-forced pass, so that every
/// hypothesis of an n-best list has its own; a sampled one attends where it did when it was drawn. f32
/// (sentence, [rank,] layer, head, query, key): query i is the step that produces the hypothesis' token i;
/// rank is there when some sentence has several hypotheses. Groups cross_attention (key: source positions)
/// and self_attention (key: earlier target positions), each with query_length and key_length. A prompt's
/// positions come first. `whole_text`: as in force().
TensorMap decoder_attention(const Model<float>& model, const PackedStates& input, const Results& hypotheses,
                            int threads, Inspection* inspection = nullptr, bool whole_text = false);

}  // namespace heed
