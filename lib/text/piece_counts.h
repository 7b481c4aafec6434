// How often each word, character or segment of a text occurs: all that a vocabulary is learned from, unless it is of type
// unigram. Counts of parts of a text add up to those of the whole, so they may be taken anywhere and merged.
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

  /// For a vocabulary of these options. Throws UsageError when it is not learned from counts.
  explicit PieceCounts(const TrainOptions& options);

  /// Counts a line of valid UTF-8.
  void add(const std::string& line);

  /// Adds what write() wrote of a part. Throws Error, which begins with `name`, when it is something else, or of a vocabulary of
  /// another type, or of more than kMostBytes with what was read before.
  void read(const LineSource& next_line, const std::string& name);
  /// Lines in the order of their bytes: what is counted how, then "piece<TAB>count" each.
  void write(const std::function<void(const std::string& line)>& line) const;

  /// Of type bpe: leaves out the words that occur less often than options.min_word_count, once all parts are counted. Throws
  /// Error when none is left.
  void leave_out_rare_words();

  const WordCounts& counts() const& { return counts_; }
  WordCounts counts() && { return std::move(counts_); }

 private:
  std::string head() const;

  TrainOptions options_;
  Vocabulary special_;
  WordCounts counts_;
  std::int64_t bytes_ = 0;  ///< of the text that what was read stands for, with a space for each piece
};

}  // namespace heed::text
