#include "text/piece_counts.h"

#include "base/error.h"
#include "base/number.h"
#include "text/scheme.h"
#include "text/unicode.h"

namespace heed::text {

PieceCounts::PieceCounts(const TrainOptions& options)
    : options_(options), type_(kPieceTypes(options.type)), special_(options.special) {
  if (type_ == PieceType::unigram)
    fail<UsageError>(
        "--type unigram is learned from lines, not from counts of words: --sample-lines takes some of them");
  if (type_ != PieceType::bpe && options.min_word_count > 1)
    fail<UsageError>("--min-word-count selects the words that type bpe learns merges from: type ",
                     options.type, " has --min-frequency");
}

std::string PieceCounts::head() const {
  return concat("# heed: counts for --type ", options_.type, options_.pretokenized ? " --pretokenized" : "",
                options_.special.empty() ? "" : " --special " + options_.special);
}

void PieceCounts::add(const std::string& line) {
  if (type_ == PieceType::bpe) {
    if (options_.pretokenized)
      count_words(line, counts_);
    else
      count_sentencepiece_words(nfc(line), counts_);
    return;
  }
  const std::string text = options_.pretokenized ? line : nfc(line);
  for (std::string& piece :
       type_ == PieceType::word ? word_pieces(text, special_) : char_pieces(text, special_))
    ++counts_[std::move(piece)];
}

void PieceCounts::read(const LineSource& next_line, const std::string& name) {
  std::string line;
  if (!next_line(line)) fail(name, ": empty: did the command that should write it fail?");
  if (line != head())
    fail(name, ":1: wanted \"", head(), "\", as tokenize --count writes with the same options, got \"",
         escaped(line), "\"");
  for (std::int64_t number = 2; next_line(line); ++number) {
    const std::size_t tab = line.rfind('\t');
    std::int64_t count = 0;
    if (tab == std::string::npos || !parse(std::string_view(line).substr(tab + 1), count) || count < 1)
      fail(name, ":", number, ": wanted a piece, a tab and how often it occurs, got \"", escaped(line), "\"");
    const auto place = find_or_add(counts_, std::string_view(line).substr(0, tab));
    if (__builtin_add_overflow(place->second, count, &place->second) || place->second > kMostOccurrences)
      fail(name, ":", number, ": more than ", kMostOccurrences, " occurrences");
    // Learning adds up the counts of whatever parts the pieces have.
    std::int64_t occurring = 0;
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(tab + 1), &occurring) ||
        __builtin_add_overflow(bytes_, occurring, &bytes_) || bytes_ > kMostBytes)
      fail(name, ":", number, ": the pieces so far would be a text of more than ", kMostBytes, " bytes");
  }
}

void PieceCounts::leave_out_rare_words() {
  const auto is_rare = [&](const auto& entry) { return entry.second < options_.min_word_count; };
  if (type_ != PieceType::bpe || std::erase_if(counts_, is_rare) == 0 || !counts_.empty()) return;
  fail("--min-word-count ", options_.min_word_count, ": no word occurs so often");
}

void PieceCounts::write(const std::function<void(const std::string& line)>& line) const {
  line(head());
  for (const auto& [piece, count] : in_order(counts_)) line(concat(piece, "\t", count));
}

}  // namespace heed::text
