// The ways of cutting text into pieces, behind one interface. Only the Tokenizer sees them.
//
// Text cannot spell a special piece: a piece that would read "<pad>", "<unk>", "<s>" or "</s>" gets a
// backslash in front ("\<pad>"), and so does one that already reads like that ("\\<pad>"); reading pieces
// takes one off.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace heed::text {

class Scheme {
 public:
  virtual ~Scheme() = default;
  /// The ids of a line of valid UTF-8; none is special except kUnknown.
  virtual std::vector<std::int32_t> encode(const std::string& line) const = 0;
  /// The text of pieces, none of which is special except kUnknown.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// Whether `piece` begins a word when it follows `before`.
  virtual bool begins_word(const std::string& before, const std::string& piece) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  virtual const BpeCodes* codes() const { return nullptr; }
  virtual std::string_view sentencepiece() const { return {}; }

 protected:
  explicit Scheme(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  Vocabulary vocabulary_;
};

using SchemePtr = std::shared_ptr<const Scheme>;

/// Words between ASCII white space.
SchemePtr make_word_scheme(Vocabulary vocabulary);
/// Characters; a space is the piece U+2581, the character U+2581 itself is the piece "\" U+2581.
SchemePtr make_char_scheme(Vocabulary vocabulary);
/// subword-nmt: words between spaces, segments that do not end their word are marked "@@". A final segment
/// that ends in "@@" by itself, with any backslashes after it, gets a backslash at its end.
SchemePtr make_subword_scheme(Vocabulary vocabulary, BpeCodes codes);
/// A serialized SentencePiece model whose first four pieces are the special ones.
SchemePtr make_sentencepiece_scheme(std::string model);

/// The pieces that make_char_scheme gives the characters of a line, and make_subword_scheme the words of a
/// line.
std::vector<std::string> char_pieces(const std::string& line);
std::vector<std::string> word_pieces(const std::string& line);
std::vector<std::string> subword_pieces(const BpeCodes& codes, std::string_view word);

/// Trains a SentencePiece model ("bpe" or "unigram"); every character it does not know is spelled in bytes.
std::string train_sentencepiece(const std::vector<std::string>& lines, const std::string& type,
                                std::int64_t vocab_size);

std::string escape_special(std::string_view piece);
std::string unescape_special(std::string_view piece);

/// `text` with every `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

inline constexpr std::string_view space_symbol = "\xE2\x96\x81";  // U+2581

}  // namespace heed::text
