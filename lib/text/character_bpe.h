// Byte-pair encoding of characters, the tokenizer of Llama 1 and 2, Mistral, Gemma and Phi-3 as tokenizer.json
// describes it (https://github.com/huggingface/tokenizers, models/bpe): spaces become U+2581, each character
// with a piece is a symbol, each other one is its bytes, pieces "<0x00>" to "<0xFF>", or is unknown, and
// symbols are merged in the order in which the merges were learned (merge_rules.h). Unlike SentencePiece,
// which such models were mostly learned by (foreign_sentencepiece.h), it normalises nothing else: spaces at
// the ends of a line and between words stay, and merges need not follow from the pieces.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/choice.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/scheme.h"

namespace heed::text {

inline constexpr char kCharacterBpeType[] = "character_bpe";

/// Where the pre-tokenizer Metaspace puts a U+2581 in front of text that has none there: nowhere, as it is
/// not used, or it is used and leaves the text as it is (never); at each text between special and added
/// tokens; at one that begins the line.
enum class PrefixPlace { none, never, always, first };
inline const Choice<PrefixPlace> kPrefixPlaces{"prefix", {"none", "never", "always", "first"}};

/// How pieces become text: bytes are joined and U+2581 is a space, in `strip` without the first space of the
/// text; in `metaspace` bytes are written as their pieces, and the first piece loses each U+2581, in
/// `metaspace_never` none.
enum class PieceJoin { plain, strip, metaspace, metaspace_never };
inline const Choice<PieceJoin> kPieceJoins{"join", {"plain", "strip", "metaspace", "metaspace_never"}};

struct CharacterBpeOptions {
  bool prepends = false;         ///< a U+2581 before each text between tokens that is not empty
  bool replaces_spaces = false;  ///< before added tokens are searched in normalised text
  PrefixPlace prefix = PrefixPlace::none;
  bool splits = false;     ///< Metaspace: no piece has a U+2581 after its beginning
  bool bytes = true;       ///< characters without a piece are bytes, if all of these have pieces
  bool fuses_unk = true;   ///< adjacent unknown characters are one unknown piece
  bool states_unk = true;  ///< there is a piece for unknown characters; otherwise none may be unknown
  PieceJoin join = PieceJoin::strip;
  SentenceFrame frame{};
  AddedTokens added{};                 ///< text may spell them
  std::vector<AddedToken> special{};   ///< text spells them on request
  std::set<std::int32_t> line_ends{};  ///< pieces whose "<newline>" is an end of line
};

/// Whether a piece is what text consists of before merges: a character, or with `bytes` a byte, "<0x0A>".
bool is_symbol(const std::string& piece, bool bytes);

/// Throws Error if a merge is none of pieces, a text could spell a special token, or could be unknown without
/// a piece for that.
SchemePtr make_character_bpe_scheme(Vocabulary vocabulary, std::vector<Merge> merges,
                                    CharacterBpeOptions options);
/// The scheme from the results of Scheme::merges() and Scheme::settings(). `name` is for messages.
SchemePtr make_character_bpe_scheme(Vocabulary vocabulary, const std::vector<std::string>& merges,
                                    const nlohmann::json& settings, const std::string& name);

}  // namespace heed::text
