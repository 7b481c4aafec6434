// Detects text of which much is unknown to its vocabulary: of another language, in another case, or not
// tokenized. Models compute with it nevertheless, so every reader of text warns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace heed::text {

class UnknownPieces {
 public:
  explicit UnknownPieces(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Counts a line and its ids, with or without cls and eos.
  void add(const std::string& line, std::span<const std::int32_t> ids);

  std::int64_t pieces() const { return pieces_; }
  std::int64_t unknown() const { return unknown_; }
  /// "4 of 5 pieces unknown: was the vocabulary learned from lower-cased text? ..." with the most likely
  /// cause; empty unless more than a tenth is unknown.
  std::string complaint() const;

 private:
  /// Enough lines to guess the cause.
  static constexpr std::int64_t kTriedLines = 1000;

  std::int64_t count_unknown(std::span<const std::int32_t> ids) const;

  const Tokenizer* tokenizer_;
  std::int64_t pieces_ = 0, unknown_ = 0;
  /// For the first lines with unknown pieces: the number of these, and the number if the text were changed.
  std::int64_t lines_ = 0, as_given_ = 0, lower_cased_ = 0, tokenized_ = 0;
};

}  // namespace heed::text
