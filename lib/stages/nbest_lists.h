// N-best lists to be rescored, as written by `decode --n-best` and Moses: a line "sentence ||| translation"
// each, optionally followed by " ||| " and anything; sentences are counted from 0, in part of a text as in
// the whole, and are in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stages/results.h"
#include "text/line_reader.h"
#include "text/unknown_pieces.h"

namespace heed {

/// The end of the "12 ||| " that such a line begins with; npos: it does not.
std::size_t end_of_number(const std::string& line, std::int64_t& number);

class NBestLists {
 public:
  NBestLists(const std::string& path, const text::Tokenizer& tokenizer)
      : lines_(path), tokenizer_(tokenizer), unknown_(tokenizer) {}

  /// The translations of `count` sentences from number `first`, which follows the previous call's, as ids
  /// with a final eos. Throws Error on an invalid line, and if a sentence has no translation, or more than
  /// kWidestBeam.
  /// and when a sentence has no translation, or more than kWidestBeam.
  std::vector<std::vector<Ids>> next(std::int64_t first, std::int64_t count);
  /// Throws Error if lines are left. Warns if much of the text is unknown to the vocabulary.
  void expect_end();

 private:
  /// Reads a line into number_ and translation_; false at the end.
  bool advance();

  text::LineReader lines_;
  const text::Tokenizer& tokenizer_;
  text::UnknownPieces unknown_;
  std::int64_t sentence_ = 0;  ///< number of the next sentence
  bool is_read_ = false;       ///< a line has been read ahead
  std::int64_t number_ = 0;
  std::string translation_;
};

}  // namespace heed
