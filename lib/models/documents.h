// Documents: lines of several sentences, which a model reads word by word and then sentence by sentence (models/han.h). In
// the words of the tensors a document is a sentence of a frame, and its sentences are that sentence's segments.
//
// What the word encoder makes of a document becomes a vector of each of its sentences, and a recurrent layer reads these in
// both directions: Yang et al. 2016, section 2.2 (word attention, sentence encoder).
// Parameters: word_attention (nn/attention/pooling.h); sentence_encoder/{forward, backward} (nn/recurrent.h).
// Named values: word_attention/{scores, weights}, a query for each sentence, a key for each word of the document, those of
// other sentences with score -infinity and weight 0; word_attention/context s_i and sentence_encoder/output h_i, a row for
// each sentence; below sentence_encoder/{forward, backward} those of the layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/special_ids.h"
#include "models/parts.h"
#include "nn/recurrent.h"

namespace heed {

struct Documents {
  std::vector<std::string> ends;      ///< pieces that end a sentence
  std::vector<std::int32_t> end_ids;  ///< their ids, which the vocabulary says
  std::int32_t eos = SpecialIds::kAbsent;
  RecurrentSizes layer;  ///< of the sentence encoder, in one direction
  double dropout = 0;    ///< on what the sentence encoder makes

  /// Sentences end after the last of one or several such pieces in a row; words at the end that none follows are a
  /// sentence too, but eos belongs to the one before.
  Segments segments(const PackedTokens& documents) const;
  /// Of words, states [words, d] of `words`, which knows its segments, a state for each sentence [sentences, d].
  template <class T>
  Encoded<T> read(Pass<T>& pass, const Encoded<T>& words) const;
};

}  // namespace heed
