// Unigram segmentation of words (Kudo 2018), as in the Hugging Face library tokenizers
// (https://github.com/huggingface/tokenizers) for T5. Text is normalised grapheme by grapheme with a
// SentencePiece table, split at white space, and each word gets a U+2581 in front and is split into the most
// probable pieces. SentencePiece itself (text/foreign_sentencepiece.h) normalises whole lines by the longest
// match instead. Text cannot spell special pieces.
#pragma once

#include <string>

#include "text/scheme.h"

namespace heed::text {

inline constexpr char kWordUnigramType[] = "word_unigram";

/// `model`: a serialized SentencePiece model (sentencepiece_model.h). Throws Error if it is invalid, or if
/// its pieces are not the first of the vocabulary.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, SentenceFrame frame);
/// The same from what Scheme::settings() gave. `name` is for messages.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, const nlohmann::json& settings,
                                   const std::string& name);

}  // namespace heed::text
