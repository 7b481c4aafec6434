// The last stage on tensor maps: /encoder -> hypotheses, with the attention of every layer and head when
// asked for.
#pragma once

#include <vector>

#include "decode/search.h"
#include "models/model.h"
#include "tensor/tensor_map.h"

namespace heed {

struct TranslateOptions {
  BeamOptions beam;
  bool sampling = false;
  SampleOptions sample;         ///< first_sentence counts within the frame's stream; set it for every frame
  std::int64_t max_length = 0;  ///< tokens; 0: twice the source length and 20 more
};

/// The encoder's final states of a frame, packed.
struct Memory {
  Packing rows;
  std::vector<float> states;  ///< [rows, d]
  Matrix<const float> matrix() const;
};

/// Throws Error when /encoder is missing, misshapen, or does not hold the output of the model's last layer.
Memory memory_of(const Model<float>& model, const TensorMap& frame);

/// For each sentence of the frame its hypotheses, best first. An empty source sentence (only </s>) gives an
/// empty translation.
std::vector<std::vector<Hypothesis>> translate(const Model<float>& model, const Memory& memory,
                                               const TranslateOptions& options, int threads);

/// Scores given targets instead (ids with final eos): one hypothesis a sentence, with the log-probability of
/// every token. score = sum / length^length_penalty.
std::vector<std::vector<Hypothesis>> force(const Model<float>& model, const Memory& memory,
                                           const std::vector<std::vector<std::int32_t>>& targets,
                                           double length_penalty, int threads);

/// The decoder's attention weights for these hypotheses, computed in one teacher-forced pass, so that every
/// hypothesis of an n-best list has its own. f32 (sentence, [rank,] layer, head, query, key): query i is the
/// step that produces the hypothesis' token i; rank is there when some sentence has several hypotheses.
/// Groups attention_cross (key: source positions) and attention_decoder (key: earlier target positions), each
/// with query_length and key_length.
TensorMap decoder_attention(const Model<float>& model, const Memory& memory,
                            const std::vector<std::vector<Hypothesis>>& hypotheses, int threads);

/// /hypotheses: score f32 (sentence, rank), ids i32 (sentence, rank, position), length i32 (sentence, rank),
/// token_logprob, finished u8; missing ranks have length 0.
TensorMap hypothesis_map(const std::vector<std::vector<Hypothesis>>& hypotheses);

}  // namespace heed
