// Documents: lines of several sentences, which a model reads word by word and then sentence by sentence
// (models/han.h). In the tensors, a document is a sentence of a frame, and its own sentences are the segments
// of that sentence.
//
// The word encoder's states of a document are pooled into a vector for each of its sentences, and a recurrent
// layer reads these vectors in both directions: Yang et al. 2016, section 2.2 (word attention, sentence
// encoder). Parameters: word_attention (nn/attention/pooling.h); sentence_encoder/{forward, backward}
// (nn/recurrent.h).
// Named values: word_attention/{scores, weights}, one query per sentence and one key per word of the
// document, where words of other sentences have score -infinity and weight 0; word_attention/context s_i and
// sentence_encoder/output h_i, one row per sentence; below sentence_encoder/{forward, backward} those of the
// layer.
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
  std::vector<std::int32_t> end_ids;  ///< their ids in the vocabulary
  std::int32_t eos = SpecialIds::kAbsent;
  RecurrentSizes layer;  ///< the sentence encoder, in one direction
  double dropout = 0;    ///< on the output of the sentence encoder

  /// A sentence ends after the last of one or several such pieces in a row; words after the last end form a
  /// sentence too, except eos, which belongs to the sentence before it.
  Segments segments(const PackedTokens& documents) const;
  /// Maps the states [words, d] of `words`, with its segments, to one state per sentence [sentences, d].
  template <class T>
  Encoded<T> read(Pass<T>& pass, const Encoded<T>& words) const;
};

}  // namespace heed
