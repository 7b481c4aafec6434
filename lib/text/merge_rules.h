// Byte-pair encoding by ids: of all neighbours for which there is a rule, those of the earliest rule are
// merged first, of equal ones the leftmost. Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare
// Words with Subword Units", algorithm 1; with a queue, so that n ids take n log n steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace heed::text {

class MergeRules {
 public:
  MergeRules() = default;
  /// `kind`: what the vocabulary should be, for messages. Throws Error if a part of a merge, or what a merge
  /// makes, is none of its pieces.
  MergeRules(const std::vector<Merge>& merges, const Vocabulary& vocabulary, const std::string& kind);

  /// Merges the ids from `first` to the end, in place.
  void apply(std::vector<std::int32_t>& ids, std::size_t first) const;

 private:
  struct Rule {
    std::int32_t rank = 0, merged = 0;
  };
  std::unordered_map<std::uint64_t, Rule> rules_;  ///< by the ids of a pair
};

/// The id of a piece. Throws Error naming it, `what` it is for, and the `kind` of vocabulary that has it.
std::int32_t needed_piece(const Vocabulary& vocabulary, const std::string& piece, const char* what,
                          const std::string& kind);

}  // namespace heed::text
