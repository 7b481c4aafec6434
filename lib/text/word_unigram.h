// Unigram segmentation of words (Kudo 2018), as in the Hugging Face library tokenizers
// (https://github.com/huggingface/tokenizers) for T5, XLM-RoBERTa and CamemBERT. Text is normalised grapheme
// by grapheme with a SentencePiece table, split at white space, and each word gets a U+2581 in front and is
// split into the most probable pieces. SentencePiece itself (text/foreign_sentencepiece.h) normalises whole
// lines by the longest match instead. Text cannot spell special pieces except the mask.
#pragma once

#include <string>

#include "text/scheme.h"

namespace heed::text {

inline constexpr char kWordUnigramType[] = "word_unigram";
/// A run of spaces in tokenizer.json.
inline constexpr char kRunOfSpacesPattern[] = " {2,}";

/// What tokenizer.json may say besides pieces and table. The end of a text and runs of spaces are treated
/// after the table.
struct WordUnigramOptions {
  SentenceFrame frame{};
  bool only_spaces_split = false;  ///< other white space is a character like any other
  bool strips_end = false;         ///< white space at the end is removed
  std::string run_of_spaces{};     ///< replaces two spaces or more; empty: they stay
  bool mask_strips = false;        ///< white space before a mask belongs to it
};

/// `model`: a serialized SentencePiece model (sentencepiece_model.h). Throws Error if it is invalid, or if
/// its pieces are not the first of the vocabulary.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, WordUnigramOptions options);
/// The same from what Scheme::settings() gave. `name` is for messages.
SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, const nlohmann::json& settings,
                                   const std::string& name);

}  // namespace heed::text
