// The schemes that split text into pieces, with a common interface. Used by the Tokenizer only.
//
// Text cannot spell a special piece: a piece that would read like one of the vocabulary's ("<pad>") gets a
// backslash in front ("\<pad>"), and so does one that already reads like that ("\\<pad>"); decoding takes one
// off. The mask is the exception: text that says "<mask>" means the mask, if the vocabulary has it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/drawn_pieces.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace heed::text {

/// The special ids that another program's tokenizer puts around a sentence.
struct SentenceFrame {
  std::vector<std::int32_t> before, after;
  std::vector<std::int32_t>
      between{};                 ///< between the two sentences of a pair; empty: pairs are not supported
  std::int32_t second_type = 0;  ///< type of the second sentence's tokens, and of those after it
};

/// More than any tokenizer puts on one side of a sentence.
inline constexpr std::size_t kMostFrameIds = 256;

/// Throws Error beginning with `where` unless the vocabulary has all of the frame's ids, and they are not too
/// many.
void check_frame(const SentenceFrame& frame, const Vocabulary& vocabulary, const std::string& where);
/// Adds the frame to a scheme's settings: "before" and "after", and for pairs "between" and "second_type".
void add_frame(nlohmann::json& settings, const SentenceFrame& frame);
/// The inverse. Throws Error as check_frame does, and if they are not lists of ids.
SentenceFrame frame_of_settings(const nlohmann::json& settings, const Vocabulary& vocabulary,
                                const std::string& where);

class AddedTokens;
struct AddedToken;

class Scheme {
 public:
  virtual ~Scheme() = default;
  /// The ids of a line of valid UTF-8, normalized(); none is special except unk and mask.
  virtual std::vector<std::int32_t> encode(const std::string& line) const = 0;
  /// Text as encode() takes it, from a line or from a part of one between the tokens of added().
  virtual std::string normalized(const std::string& text) const { return text; }
  /// encode() of such a part, which may begin the line.
  virtual std::vector<std::int32_t> encode_part(const std::string& part, bool begins_line) const;
  /// The ids of a sampled segmentation of the same text. Throws UsageError if the scheme has only one.
  virtual std::vector<std::int32_t> draw(const std::string& line, PieceDraw& how) const;
  /// The text of pieces, none of which is special except unk and mask.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// Whether `piece` begins a word when it follows `before`.
  virtual bool begins_word(const std::string& before, const std::string& piece) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// The ids around a sentence; null: cls and eos, if the vocabulary has them.
  virtual const SentenceFrame* frame() const { return nullptr; }
  /// Tokens that are cut from text before it is normalised and encoded; null: none.
  virtual const AddedTokens* added() const { return nullptr; }
  /// Those tokens and the special ones, which text spells only on request; empty if it never does.
  virtual std::vector<AddedToken> special_tokens() const;

  // Stored in a vocabulary file beside the pieces; empty if a scheme has none.
  virtual std::vector<std::string> merges() const { return {}; }
  virtual nlohmann::json settings() const;  ///< null: it has none
  virtual std::string_view sentencepiece() const { return {}; }

 protected:
  explicit Scheme(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  Vocabulary vocabulary_;
};

using SchemePtr = std::shared_ptr<const Scheme>;

/// Words between ASCII white space; optionally with a frame of their own.
SchemePtr make_word_scheme(Vocabulary vocabulary, std::optional<SentenceFrame> frame = {});
/// Characters; a space is the piece U+2581, the character U+2581 itself is the piece "\" U+2581.
SchemePtr make_char_scheme(Vocabulary vocabulary);
/// subword-nmt: words between spaces, segments that do not end their word are marked "@@". A final segment
/// that ends in "@@" by itself, with any backslashes after it, gets a backslash at its end.
SchemePtr make_subword_scheme(Vocabulary vocabulary, BpeCodes codes);
/// A serialized SentencePiece model, in which the special pieces are control symbols and the mask is a
/// user-defined symbol; `type`: bpe or unigram. The mask replaces a piece including its space, so "a <mask>"
/// is the piece of "a", then the mask alone.
SchemePtr make_sentencepiece_scheme(std::string model, PieceType type, const SpecialIds& special);

/// The pieces of a line (or word) in these schemes, whether or not `vocabulary` has them; its special pieces
/// are used for escaping.
std::vector<std::string> char_pieces(std::string_view line, const Vocabulary& vocabulary);
std::vector<std::string> word_pieces(const std::string& line, const Vocabulary& vocabulary);
std::vector<std::string> subword_pieces(const BpeCodes& codes, std::string_view word,
                                        const Vocabulary& vocabulary);

/// Counts the words of a line as SentencePiece learns bpe from them: between spaces; "" represents a space
/// without a word.
void count_sentencepiece_words(const std::string& line, WordCounts& counts);

/// Trains a SentencePiece model of type bpe that begins with the pieces of `special`; unknown characters are
/// spelled in bytes.
std::string train_sentencepiece_bpe(const WordCounts& words, std::int64_t vocab_size,
                                    const Vocabulary& special);
/// Trains a model of type unigram.
std::string train_sentencepiece_unigram(const std::vector<std::string>& lines, std::int64_t vocab_size,
                                        const Vocabulary& special);

/// The ids of a line that may contain the mask: `encode` appends those of the text before, between and after
/// masks. `strips`: white space before a mask belongs to it.
std::vector<std::int32_t> encode_with_masks(
    const Vocabulary& vocabulary, std::string_view line, bool strips,
    const std::function<void(const std::string& text, std::vector<std::int32_t>& ids)>& encode);

std::string escape_special(std::string_view piece, const Vocabulary& vocabulary);
std::string unescape_special(std::string_view piece, const Vocabulary& vocabulary);

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

}  // namespace heed::text
