// Byte-level BPE, the tokenizer of GPT-2, RoBERTa, Llama 3, Qwen2 and SmolLM: text is split into words by a
// pattern, of some models also around digits, each byte of a word is a symbol, and symbols are merged in the
// order in which the merges were learned. Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners", section 2.2.
//
// Pieces are written with one character per byte: the printable ones of Latin-1 represent themselves, the
// others are mapped in order to U+0100 and up, so a space is "Ġ". No text is unknown.
//
// The patterns are hand-written scanners over Unicode's categories (those of utf8proc). White space is
// Unicode's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/merge_rules.h"
#include "text/scheme.h"

namespace heed::text {

enum class SplitPattern { none, gpt2, llama3, qwen2 };

/// By their names in configs, in the order of SplitPattern.
inline const std::vector<std::string> kSplitPatterns{"none", "gpt2", "llama3", "qwen2"};

/// The pattern with exactly this regular expression. Throws Error if it is not known.
SplitPattern pattern_of_expression(const std::string& expression);

/// The inverse, of all but `none`.
std::string expression_of(SplitPattern pattern);

/// The words of `text`, valid UTF-8; together they are the text.
std::vector<std::string_view> split_words(std::string_view text, SplitPattern pattern);

/// How text is also cut around digits, the characters of Unicode's category N, such as "1", "²" and "½": not
/// at all, each digit alone, or runs of them.
enum class DigitSplit { none, each, runs };
inline const std::vector<std::string> kDigitSplits{"none", "each", "runs"};

/// The parts of `text`, valid UTF-8; together they are the text.
std::vector<std::string_view> split_digits(std::string_view text, DigitSplit how);

/// Both, each part of the first being split by the second as if it were the whole text: digits, then the
/// pattern, or, if `digits_last`, the reverse.
std::vector<std::string_view> split_in_turn(std::string_view text, SplitPattern pattern, DigitSplit digits,
                                            bool digits_last);

struct ByteBpeOptions {
  SplitPattern pattern = SplitPattern::gpt2;
  DigitSplit digits = DigitSplit::none;
  bool digits_last = false;    ///< after the pattern, not before
  bool prefix_space = false;   ///< a space is prepended to text that does not begin with one
  bool ignore_merges = false;  ///< a word that is a piece is kept whole, whatever the merges give
  bool mask_strips = false;    ///< the mask takes the white space before it
  SentenceFrame frame;
  AddedTokens added{};  ///< text may spell them
};

/// Throws Error if a byte is not among the pieces, or a merge gives something that is not.
SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, std::vector<Merge> merges, ByteBpeOptions options);
/// The scheme from the results of Scheme::merges() and Scheme::settings(). `name` is for messages.
SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, const std::vector<std::string>& merges,
                               const nlohmann::json& settings, const std::string& name);

/// Ids of the special pieces, and of pieces of more than one byte that no merge ("a b") makes: added tokens.
std::set<std::int32_t> pieces_without_merge(const Vocabulary& vocabulary,
                                            const std::vector<std::string>& merges);

/// Parses "a b" as a merge, which must have two parts.
Merge parse_merge(const std::string& line, const std::string& name);

}  // namespace heed::text
