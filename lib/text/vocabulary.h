// A vocabulary numbers its pieces. The first four are special; text can never spell them (see Tokenizer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/special_ids.h"

namespace heed::text {

inline constexpr std::string_view special_pieces[kSpecialIds] = {"<pad>", "<unk>", "<s>", "</s>"};

bool is_special_piece(std::string_view piece);

class Vocabulary {
 public:
  /// Only the special pieces.
  Vocabulary();
  /// `pieces` by id, the special ones first. Throws Error when those are missing, or a piece is empty or
  /// there twice. `name` is for messages.
  explicit Vocabulary(std::vector<std::string> pieces, const std::string& name = "vocabulary");

  /// Appends a piece that is not yet there.
  void add(const std::string& piece);
  /// The id of a piece, or kUnknown.
  std::int32_t id(const std::string& piece) const;
  bool contains(const std::string& piece) const { return ids_.contains(piece); }
  /// The piece of an id. Throws Error when the id is out of range.
  const std::string& piece(std::int32_t id) const;
  std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

/// A word list: one piece per line, optionally followed by a space or tab and its count (as subword-nmt
/// writes).
struct CountedPiece {
  std::string piece;
  std::int64_t count = 0;  ///< 0 when the file has none
};

/// Reads the lines of a word list, whose order is kept; special pieces in it are left out.
/// Throws Error naming the line, or both lines, of an empty, doubled or spaced piece.
std::vector<CountedPiece> parse_word_list(const std::vector<std::string>& lines, const std::string& name);

}  // namespace heed::text
