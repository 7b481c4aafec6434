// BERT's tokenizer. Text is cleaned, split at white space and around punctuation, and each word is split
// greedily into the longest pieces from its start; pieces that do not begin a word are marked "##". Devlin et
// al. 2019, "BERT", section 3, and the tokenizer published with it. A word with too many characters, or with
// a remainder that no piece matches, is unknown as a whole.
//
// Cleaning, in this order: control, format and private characters go, white space becomes spaces; Chinese
// characters get spaces around them; NFD, and non-spacing marks go; lower case, character by character.
#pragma once

#include <cstdint>
#include <string>

#include "text/scheme.h"

namespace heed::text {

inline constexpr char kWordPieceType[] = "wordpiece";
/// The largest WordPieceOptions::longest_word: time is quadratic in the length of a word.
inline constexpr std::int64_t kLongestWord = 1000;

struct WordPieceOptions {
  bool clean = true, split_chinese = true, strip_accents = true, lowercase = true;
  std::string prefix = "##";
  std::int64_t longest_word = 100;  ///< in characters
  bool tidy = true;                 ///< decoding removes the spaces before . ? ! , and the like
  SentenceFrame frame;
};

/// Throws Error if the vocabulary has no piece for unknown text.
SchemePtr make_wordpiece_scheme(Vocabulary vocabulary, WordPieceOptions options);
/// The scheme from the result of Scheme::settings(). `name` is for messages.
SchemePtr make_wordpiece_scheme(Vocabulary vocabulary, const nlohmann::json& settings,
                                const std::string& name);

}  // namespace heed::text
