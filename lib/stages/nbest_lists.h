// Lists of translations to be scored, as `decode --n-best` and Moses write them: a line "sentence ||| translation" each,
// with anything after another " ||| "; sentences are counted from 0, in a part of a text as in the whole, and stand in their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stages/results.h"
#include "text/line_reader.h"
#include "text/unknown_pieces.h"

namespace heed {

/// Where "12 ||| " ends that such a line begins with; npos: it is none.
std::size_t end_of_number(const std::string& line, std::int64_t& number);

class NBestLists {
 public:
  NBestLists(const std::string& path, const text::Tokenizer& tokenizer)
      : lines_(path), tokenizer_(tokenizer), unknown_(tokenizer) {}

  /// The translations of `count` sentences from number `first`, which follows those of the call before, as ids with a final eos. Throws Error on a line that is none of such a list,
  /// and when a sentence has no translation, or more than kWidestBeam.
  std::vector<std::vector<Ids>> next(std::int64_t first, std::int64_t count);
  /// Throws Error when lines are left. Says so when the vocabulary hardly knows the text.
  void expect_end();

 private:
  /// Reads a line into number_ and translation_; false at the end.
  bool advance();

  text::LineReader lines_;
  const text::Tokenizer& tokenizer_;
  text::UnknownPieces unknown_;
  std::int64_t sentence_ = 0;  ///< the next
  bool is_read_ = false;       ///< a line, which waits for its sentence
  std::int64_t number_ = 0;
  std::string translation_;
};

}  // namespace heed
