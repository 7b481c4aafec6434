// Unigram pieces of words (Kudo 2018), as the library tokenizers (https://github.com/huggingface/tokenizers) has them for T5. Text is
// normalised grapheme by grapheme by a table of SentencePiece's, split at white space, each word gets a U+2581 in front, and is cut
// into the pieces of the greatest probability. SentencePiece itself (text/foreign_sentencepiece.h) normalises by the longest match
// instead, and whole lines. Text cannot spell special pieces.
#pragma once

#include <string>

#include "text/scheme.h"

namespace heed::text {

inline constexpr char kWordUnigramType[] = "word_unigram";

/// `model`: a serialized one of SentencePiece (sentencepiece_model.h). Throws Error when it is none, or its pieces are not the first of the vocabulary.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, SentenceFrame frame);
/// The same from what Scheme::settings() gave. `name` is for messages.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, const std::string& settings,
                                   const std::string& name);

}  // namespace heed::text
