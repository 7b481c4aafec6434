// N-best lists, as written by `decode --n-best` and Moses: a line "sentence ||| translation" each, optionally
// followed by " ||| " and anything, of which what follows the last " ||| " is the score; sentences are counted
// from 0, in part of a text as in the whole, and are in order.
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

struct NBestLine {
  std::string translation;
  std::string score;  ///< empty: the line has none
  std::string place;  ///< file and line
};

class NBestReader {
 public:
  explicit NBestReader(const std::string& path) : lines_(path) {}

  /// The translations of a sentence, whose number follows that of the previous call. Throws Error on an invalid
  /// line, and if the sentence has no translation, or more than kWidestBeam.
  std::vector<NBestLine> next(std::int64_t sentence);
  /// Whether all lines were returned.
  bool at_end();
  /// The sentence of the line that next() did not return.
  std::int64_t sentence_ahead() const { return number_; }
  const std::string& name() const { return lines_.name(); }

 private:
  /// Reads a line unless one has been read ahead; false at the end.
  bool advance();

  text::LineReader lines_;
  bool is_read_ = false;  ///< a line has been read ahead: number_ and line_
  std::int64_t number_ = 0, last_ = 0;
  NBestLine line_;
};

/// Lists to be rescored.
class NBestLists {
 public:
  NBestLists(const std::string& path, const text::Tokenizer& tokenizer)
      : reader_(path), tokenizer_(tokenizer), unknown_(tokenizer) {}

  /// The translations of `count` sentences from number `first`, which follows the previous call's, as ids
  /// with a final eos. Throws Error as the reader does.
  std::vector<std::vector<Ids>> next(std::int64_t first, std::int64_t count);
  /// Throws Error if lines are left. Warns if much of the text is unknown to the vocabulary.
  void expect_end();

 private:
  NBestReader reader_;
  const text::Tokenizer& tokenizer_;
  text::UnknownPieces unknown_;
  std::int64_t sentence_ = 0;  ///< number of the next sentence
};

}  // namespace heed
