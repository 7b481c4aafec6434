// Byte-level BPE, the tokenizer of GPT-2, RoBERTa, Llama 3 and Qwen2: text is split into words by a pattern, each byte of
// a word is a symbol of its own, and symbols are merged in the order in which the merges were learned.
// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.
//
// Pieces are written with a character for each byte: the printable ones of Latin-1 stand for themselves, the others, in
// their order, for U+0100 and up, so a space is "Ġ". No text is unknown.
//
// The patterns are hand-written scanners over Unicode's categories (those of utf8proc). White space is Unicode's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/scheme.h"

namespace heed::text {

enum class SplitPattern { none, gpt2, llama3, qwen2 };

/// By their names in configs, in the order of SplitPattern.
inline const std::vector<std::string> kSplitPatterns{"none", "gpt2", "llama3", "qwen2"};

/// The pattern whose regular expression is exactly this. Throws Error when it is not known.
SplitPattern pattern_of_expression(const std::string& expression);

/// The inverse, of all but `none`.
std::string expression_of(SplitPattern pattern);

/// The words of `text`, valid UTF-8; together they are the text.
std::vector<std::string_view> split_words(std::string_view text, SplitPattern pattern);

struct ByteBpeOptions {
  SplitPattern pattern = SplitPattern::gpt2;
  bool prefix_space = false;   ///< a space is put before a text that does not begin with one
  bool ignore_merges = false;  ///< a word that is a piece is that piece, whatever the merges make of it
  bool mask_strips = false;    ///< the mask takes the white space before it
  SentenceFrame frame;
  AddedTokens added{};  ///< text may spell them
};

/// Throws Error when a byte is not among the pieces, or a merge makes something that is not.
SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, std::vector<Merge> merges, ByteBpeOptions options);
/// The same from what Scheme::merges() and Scheme::settings() gave. `name` is for messages.
SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, const std::vector<std::string>& merges,
                               const std::string& settings, const std::string& name);

/// Ids of the special pieces, and of those of more than a byte that no merge ("a b") makes: tokens that were added.
std::set<std::int32_t> pieces_without_merge(const Vocabulary& vocabulary,
                                            const std::vector<std::string>& merges);

/// "a b" as a merge, of which there must be two parts.
Merge parse_merge(const std::string& line, const std::string& name);

}  // namespace heed::text
