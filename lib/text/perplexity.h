// Perplexity of a text, from the log-probabilities of its pieces: exp(-sum of log p / number of pieces).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed::text {

struct PerplexityScore {
  double perplexity = 0;   ///< of all pieces, the final </s> of each line included
  double without_end = 0;  ///< of the pieces before </s>; NaN if there are none
  double per_word = 0;     ///< exp(-sum of log p / number of words), each </s> counted as a word
  std::int64_t pieces = 0, words = 0, lines = 0;  ///< words without </s>
};

class Perplexity {
 public:
  /// Adds a line as written by `decode --force`: a score, a tab, and piece:log p separated by spaces. Throws
  /// Error beginning with `where`.
  void add(std::string_view line, const std::string& where);
  /// Throws Error if no line had a piece.
  PerplexityScore score() const;

 private:
  double sum_ = 0, end_sum_ = 0;  ///< log p of all pieces, and of the final </s>
  std::int64_t pieces_ = 0, ends_ = 0, lines_ = 0;
  // Pieces mark words by U+2581 at their beginning or by "@@" at the end of a continued piece; pieces without
  // either are words.
  std::int64_t words_by_space_ = 0, words_by_joiner_ = 0;
  bool has_spaces_ = false;
};

}  // namespace heed::text
