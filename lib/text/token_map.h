// Sentences as tensors: the group /tokens (lib/io/README.md).
//   ids     i32 [sentence, position]  as Tokenizer::sentence has them, then pad
//   length  i32 [sentence]            number of ids before the padding
//   text    str [sentence]            the original line
// Attribute `side` of the group: source or target. The root attribute vocabulary_digest
// identifies the vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed::text {

struct Sentence {
  std::string text;
  std::vector<std::int32_t> ids;  ///< as Tokenizer::sentence has them
};

TensorMap token_map(const std::vector<Sentence>& sentences, const Tokenizer& tokenizer,
                    const std::string& side);

/// The ids of each sentence of /tokens, or of the first rank of each of /hypotheses; without padding.
/// Throws Error when a length does not fit its row or an id is not in the vocabulary.
std::vector<std::vector<std::int32_t>> sentence_ids(const TensorMap& map, const Tokenizer& tokenizer);

}  // namespace heed::text
