// Byte-pair encoding of pre-tokenized text, equal to the program subword-nmt used in published recipes.
// Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2.
// A word starts as its characters, the last one marked "</w>"; merges are applied in the order of learning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/philox.h"

namespace heed::text {

using Merge = std::pair<std::string, std::string>;

struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
};
/// Number of occurrences of each word.
using WordCounts = std::unordered_map<std::string, std::int64_t, WordHash, std::equal_to<>>;
/// More than any word of any text.
inline constexpr std::int64_t kMostOccurrences = std::int64_t{1} << 53;

/// The entry of a word, created if missing.
WordCounts::iterator find_or_add(WordCounts& counts, std::string_view word);
/// In byte order, which is code point order. `counts` must outlive the result.
std::vector<std::pair<std::string_view, std::int64_t>> in_order(const WordCounts& counts);

/// Adds the words of `line`, separated by spaces.
void count_words(std::string_view line, WordCounts& counts);

/// Learns up to `merges` merges; stops when no pair occurs `min_frequency` times. The order and the ties (the
/// greatest pair in code point order wins) are those of `subword-nmt learn-bpe`, its pruning included.
std::vector<Merge> learn_bpe(const WordCounts& counts, std::int64_t merges, std::int64_t min_frequency = 2);

/// A list of merges, ready to be applied.
class BpeCodes {
 public:
  /// `version` 2 is subword-nmt's "#version: 0.2"; in the older version 1 the end of a word is
  /// a separate symbol.
  explicit BpeCodes(std::vector<Merge> merges, int version = 2);

  /// The lines of a codes file. `name` is for messages.
  static BpeCodes parse(const std::vector<std::string>& lines, const std::string& name);
  /// The lines of the codes file.
  std::vector<std::string> lines() const;

  /// The segments of a word, in order; together they spell it.
  std::vector<std::string> segment(std::string_view word) const;
  /// Segments with merges left out at random (text/drawn_pieces.h).
  std::vector<std::string> segment(std::string_view word, double dropout, Random& random) const;
  /// The two parts from which a segment was merged; both empty for a character. `final`: the segment is the
  /// last of its word.
  Merge split(const std::string& segment, bool final) const;

  const std::vector<Merge>& merges() const { return merges_; }

 private:
  struct Rule {
    std::int32_t rank;
    std::int32_t merged;  ///< the symbol that the pair becomes
  };
  struct Part {
    std::int32_t symbol;  ///< -1: in no merge
    std::size_t begin, end;
  };
  class Word;
  /// What the merges are looked up in. Most tools only read pieces, so it is made when it is first needed.
  struct Tables {
    explicit Tables(const std::vector<Merge>& merges);
    std::unordered_map<std::string, std::int32_t> symbols;
    std::unordered_map<std::uint64_t, Rule> rules;
    std::vector<std::int32_t> origin;  ///< by symbol: its merge, -1 for a character
  };
  struct LazyTables {
    std::once_flag once;
    std::optional<Tables> tables;
  };
  const Tables& tables() const;
  std::int32_t find(const std::string& symbol) const;
  std::vector<Part> parts_of(std::string_view word) const;
  const Rule* rule(const Part& left, const Part& right) const;

  std::vector<Merge> merges_;
  int version_;
  std::shared_ptr<LazyTables> lazy_ = std::make_shared<LazyTables>();
};

}  // namespace heed::text
