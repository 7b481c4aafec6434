// The ways of splitting text into pieces, with a common interface. Used by the Tokenizer only.
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
#include "text/vocabulary.h"

namespace heed::text {

/// The special ids that another program's tokenizer puts around a sentence.
struct SentenceFrame {
  std::vector<std::int32_t> before, after;
  std::vector<std::int32_t> between{};  ///< the two sentences of a pair; empty: it puts no two together
  std::int32_t second_type = 0;         ///< type of the second one's tokens, and of those after it
};

/// More than any tokenizer puts on one side of a sentence.
inline constexpr std::size_t kMostFrameIds = 256;

/// Throws Error, which begins with `where`, unless the vocabulary has all of the frame's ids, and they are not too many.
void check_frame(const SentenceFrame& frame, const Vocabulary& vocabulary, const std::string& where);
/// Adds the frame to a scheme's settings: "before" and "after", and of pairs "between" and "second_type".
void add_frame(nlohmann::json& settings, const SentenceFrame& frame);
/// The inverse. Throws Error as check_frame does, and when they are
/// no lists of ids.
SentenceFrame frame_of_settings(const nlohmann::json& settings, const Vocabulary& vocabulary,
                                const std::string& where);

class AddedTokens;
struct AddedToken;

class Scheme {
 public:
  virtual ~Scheme() = default;
  /// The ids of a line of valid UTF-8; none is special except unk and mask.
  virtual std::vector<std::int32_t> encode(const std::string& line) const = 0;
  /// The same with other pieces of the same text. Throws UsageError of a scheme that knows no others.
  virtual std::vector<std::int32_t> draw(const std::string& line, PieceDraw& how) const;
  /// The text of pieces, none of which is special except unk and mask.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// Whether `piece` begins a word when it follows `before`.
  virtual bool begins_word(const std::string& before, const std::string& piece) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// What is around a sentence; null: cls and eos, as far as the vocabulary has them.
  virtual const SentenceFrame* frame() const { return nullptr; }
  /// What is cut from text before it is normalised and encoded; null: nothing.
  virtual const AddedTokens* added() const { return nullptr; }
  /// The same with the special ones, which text spells only where it is asked for; empty where it never does.
  virtual std::vector<AddedToken> special_tokens() const;

  // What a vocabulary file holds beside the pieces; empty where a scheme has none.
  virtual std::vector<std::string> merges() const { return {}; }
  virtual std::string settings() const { return {}; }  ///< JSON
  virtual std::string_view sentencepiece() const { return {}; }

 protected:
  explicit Scheme(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  Vocabulary vocabulary_;
};

using SchemePtr = std::shared_ptr<const Scheme>;

/// Words between ASCII white space; by choice with a frame of their own.
SchemePtr make_word_scheme(Vocabulary vocabulary, std::optional<SentenceFrame> frame = {});
/// Characters; a space is the piece U+2581, the character U+2581 itself is the piece "\" U+2581.
SchemePtr make_char_scheme(Vocabulary vocabulary);
/// subword-nmt: words between spaces, segments that do not end their word are marked "@@". A final segment
/// that ends in "@@" by itself, with any backslashes after it, gets a backslash at its end.
SchemePtr make_subword_scheme(Vocabulary vocabulary, BpeCodes codes);
/// A serialized SentencePiece model, in which the special pieces are control symbols, the mask a
/// symbol of its user; `type`: bpe or unigram. As a mask stands for a piece with its space, "a <mask>" is the piece of "a",
/// then the mask alone.
SchemePtr make_sentencepiece_scheme(std::string model, const std::string& type, const SpecialIds& special);

/// The pieces of a line (of a word) in these schemes, whether `vocabulary` has them or not; its
/// special ones count.
std::vector<std::string> char_pieces(std::string_view line, const Vocabulary& vocabulary);
std::vector<std::string> word_pieces(const std::string& line, const Vocabulary& vocabulary);
std::vector<std::string> subword_pieces(const BpeCodes& codes, std::string_view word,
                                        const Vocabulary& vocabulary);

/// Adds the words of a line as SentencePiece learns bpe from them: between spaces; "" stands for a space without a word.
void count_sentencepiece_words(const std::string& line, WordCounts& counts);

/// Trains a SentencePiece model of type bpe that begins with the pieces of `special`; every character it does not know is
/// spelled in bytes.
std::string train_sentencepiece_bpe(const WordCounts& words, std::int64_t vocab_size,
                                    const Vocabulary& special);
/// The same of type unigram.
std::string train_sentencepiece_unigram(const std::vector<std::string>& lines, std::int64_t vocab_size,
                                        const Vocabulary& special);

/// The ids of a line that may name the mask: `encode` adds those of the text before, between and after masks.
/// `strips`: white space before a mask belongs to it.
std::vector<std::int32_t> encode_with_masks(
    const Vocabulary& vocabulary, std::string_view line, bool strips,
    const std::function<void(const std::string& text, std::vector<std::int32_t>& ids)>& encode);

std::string escape_special(std::string_view piece, const Vocabulary& vocabulary);
std::string unescape_special(std::string_view piece, const Vocabulary& vocabulary);

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

}  // namespace heed::text
