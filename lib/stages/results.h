// The output of `decode` from hypotheses: lines of text, tensors, and labels of attention.
#pragma once

#include <string>
#include <vector>

#include "decode/search.h"
#include "models/model_file.h"
#include "models/packed_states.h"
#include "tensor/tensor_map.h"
#include "text/token_map.h"

namespace heed {

using Ids = std::vector<std::int32_t>;
/// The hypotheses of each sentence, best first.
using Results = std::vector<std::vector<Hypothesis>>;

/// Tensors (sentence, [rank,] ...). Whether there is a rank cannot follow from the hypotheses: an empty sentence
/// has one even where several are wanted.
struct Ranked {
  std::int64_t sentences, ranks;
  bool has_rank;

  Ranked(const Results& hypotheses, bool has_rank);
  template <class T>
  Tensor zeros(Shape shape, std::vector<std::string> dims) const {
    dims.insert(dims.begin(), "sentence");
    if (has_rank) dims.insert(dims.begin() + 1, "rank");
    return Tensor::zeros<T>(at(sentences, ranks, std::move(shape)), std::move(dims));
  }
  /// An index, or a shape.
  Shape at(std::int64_t sentence, std::int64_t rank, Shape rest) const {
    rest.insert(rest.begin(), sentence);
    if (has_rank) rest.insert(rest.begin() + 1, rank);
    return rest;
  }
};

/// The ids after those of a prompt; unchanged without prompts.
Ids after_prompt(const std::vector<Ids>& prompts, std::size_t sentence, const Ids& ids);

/// One line per sentence, or per n-best translation: "sentence ||| translation ||| score"; a prompt precedes
/// its continuation.
std::string translated_text(const Results& hypotheses, const std::vector<Ids>& prompts,
                            std::int64_t first_sentence, bool n_best, const text::Tokenizer& tokenizer);

/// One line per sentence: "score<TAB>piece:log-probability piece:log-probability ...".
std::string scored_text(const Results& hypotheses, const text::Tokenizer& tokenizer);

/// /hypotheses: score f32 (sentence, rank), ids i32 and token str (sentence, rank, position), length i32 (sentence,
/// rank), token_logprob, finished u8, text str (sentence, rank); missing ranks have length 0.
TensorMap hypothesis_map(const Results& hypotheses, const std::vector<Ids>& prompts,
                         const text::Tokenizer& tokenizer);

/// Adds the attention group NAME: weights (sentence, [rank,] layer, head, query, key) of that kind,
/// query_length and key_length.
void add_attention(TensorMap& map, const std::string& name, const std::string& kind, const std::string& title,
                   Tensor weights, Tensor query_length, Tensor key_length);

/// Labels the axes of decoder_attention's result (stages/translate.h) with pieces: query_token and key_token
/// str (sentence, [rank,] query or key); there is a rank if `has_rank`. `source`: ids of the source, or with
/// `whole_text` of the texts; empty: unknown.
void label_decoder_attention(TensorMap& attention, const Results& hypotheses, bool has_rank,
                             const std::vector<Ids>& prompts, const std::vector<Ids>& source,
                             const LoadedModel& loaded, bool whole_text);

}  // namespace heed
