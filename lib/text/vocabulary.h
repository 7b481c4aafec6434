// A vocabulary numbers its pieces. Special pieces represent no text, and text cannot spell them
// (text/scheme.h), except the mask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/special_ids.h"

namespace heed::text {

/// Whether a piece reads like a special one, for code without access to the vocabulary.
bool is_special_piece(std::string_view piece);

/// What a vocabulary, whose pieces have no end of line, calls a piece that has some, such as Gemma's: with
/// "<newline>" for each.
std::string without_line_ends(std::string_view piece);
/// The inverse.
std::string with_line_ends(std::string_view piece);

class Vocabulary {
 public:
  /// Only special pieces: <pad>, <unk>, <s>, </s>, then those of <cls>, <sep>, <mask> that `extra` names
  /// ("cls,mask"). Throws UsageError if it names another.
  explicit Vocabulary(std::string_view extra = {});
  /// `pieces` by id. Throws Error if a piece is empty, contains an end of line or occurs twice, or if a
  /// special id is out of range or occurs twice; with the default ids, pieces must begin with <pad>, <unk>,
  /// <s>, </s>. `name` is for messages.
  Vocabulary(std::vector<std::string> pieces, const SpecialIds& special,
             const std::string& name = "vocabulary");

  /// Appends a piece that is not yet there.
  void add(const std::string& piece);
  /// The id of a piece; that of unk if the vocabulary lacks the piece. Throws Error if it lacks unk too.
  std::int32_t id(const std::string& piece) const;
  bool contains(const std::string& piece) const { return ids_.contains(piece); }
  /// The piece of an id. Throws Error if the id is out of range.
  const std::string& piece(std::int32_t id) const;
  std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
  const std::vector<std::string>& pieces() const { return pieces_; }

  const SpecialIds& special() const { return special_; }
  bool is_special(std::string_view piece) const;
  /// The mask's piece, which text may spell; empty if there is none.
  std::string_view mask() const;

 private:
  SpecialIds special_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

/// A word list: one piece per line, optionally followed by a space or tab and its count (as written by
/// subword-nmt).
struct CountedPiece {
  std::string piece;
  std::int64_t count = 0;  ///< 0 if the file has none
};

/// Reads the lines of a word list in their order, without "<pad>", "<unk>", "<s>" and "</s>". Throws Error
/// naming the line, or both lines, of a piece that is empty, contains a space or occurs twice.
std::vector<CountedPiece> parse_word_list(const std::vector<std::string>& lines, const std::string& name);

}  // namespace heed::text
