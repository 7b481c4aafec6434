// Sentences as tensors: the group /tokens (lib/io/README.md).
//   ids     i32 [sentence, position]  as from Tokenizer::sentence, then pad
//   length  i32 [sentence]            number of ids before the padding
//   piece   str [sentence, position]  the pieces as text, for readers; tools use the ids
//   types   i32 [sentence, position]  which line of a pair a piece belongs to; absent for single lines
//   text    str [sentence]            the original line, for a pair both separated by a tab
// Attribute `side` of the group: source or target. The root attribute vocabulary_digest
// identifies the vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/packing.h"
#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed::text {

struct Sentence {
  std::string text;
  std::vector<std::int32_t> ids;      ///< as from Tokenizer::sentence
  std::vector<std::int32_t> types{};  ///< of each id; empty: all 0
};

TensorMap token_map(const std::vector<Sentence>& sentences, const Tokenizer& tokenizer,
                    const std::string& side);

/// The ids of each sentence of /tokens, or of the best hypothesis of each in /hypotheses; without padding.
/// Throws Error if a length does not fit its row or an id is not in the vocabulary.
std::vector<std::vector<std::int32_t>> sentence_ids(const TensorMap& map, const Tokenizer& tokenizer);

}  // namespace heed::text

namespace heed {

/// The pieces of sentences, as labels of axes.
using Pieces = std::vector<std::vector<std::string>>;

/// str (sentence, dim), dim of size `width`, "" after the end of a sentence. Throws Error if one is longer.
Tensor token_labels(const Pieces& pieces, const std::string& dim, std::int64_t width);

/// The pieces of the frame's /tokens; none if it has no /tokens, or lengths other than those of `rows`.
Pieces pieces_of(const TensorMap& frame, const text::Tokenizer& tokenizer, const Packing& rows);

/// The decoder's input for these pieces: unchanged if it reads them `as_given` (Model::reads_as_given);
/// otherwise they are its output, and it reads <s>, then all but the last.
Pieces pieces_read(Pieces pieces, const text::Tokenizer& tokenizer, bool as_given);

}  // namespace heed
