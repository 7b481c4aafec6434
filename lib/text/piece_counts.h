// Counts of the words, characters or segments of a text: vocabularies of all types except unigram are learned
// from these alone. Counts of parts of a text add up to those of the whole, so parts may be counted anywhere
// and merged.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/bpe.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace heed::text {

class PieceCounts {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

  /// For a vocabulary with these options. Throws UsageError if it is not learned from counts.
  explicit PieceCounts(const TrainOptions& options);

  /// Counts a line of valid UTF-8.
  void add(const std::string& line);

  /// Adds counts written by write(). Throws Error beginning with `name` if they are invalid, for a vocabulary
  /// of another type, or more than kMostBytes in total.
  void read(const LineSource& next_line, const std::string& name);
  /// Lines in the order of their bytes: what is counted how, then "piece<TAB>count" each.
  void write(const std::function<void(const std::string& line)>& line) const;

  /// For type bpe: removes the words that occur less often than options.min_word_count, after all parts have
  /// been counted. Throws Error if none is left.
  void leave_out_rare_words();

  const WordCounts& counts() const& { return counts_; }
  WordCounts counts() && { return std::move(counts_); }

 private:
  std::string head() const;

  TrainOptions options_;
  PieceType type_;
  Vocabulary special_;
  WordCounts counts_;
  std::int64_t bytes_ = 0;  ///< of the text represented by the counts read, with a space per piece
};

}  // namespace heed::text
