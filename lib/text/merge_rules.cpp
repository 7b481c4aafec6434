#include "text/merge_rules.h"

#include <functional>
#include <queue>
#include <utility>

#include "base/error.h"

namespace heed::text {
namespace {

/// One of the ids, in a list of those that are left.
struct Symbol {
  std::int32_t id;
  std::int32_t before, after;  ///< -1: none
};

struct Candidate {
  std::int32_t rank, at;  ///< of the left symbol
  std::int32_t left, right;
  bool operator>(const Candidate& other) const {
    return std::pair(rank, at) > std::pair(other.rank, other.at);
  }
};

std::uint64_t key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

std::int32_t needed_piece(const Vocabulary& vocabulary, const std::string& piece, const char* what,
                          const std::string& kind) {
  if (!vocabulary.contains(piece))
    fail("vocabulary: ", what, " \"", escaped(piece), "\" is not among its pieces: is it one of ", kind, '?');
  return vocabulary.id(piece);
}

MergeRules::MergeRules(const std::vector<Merge>& merges, const Vocabulary& vocabulary,
                       const std::string& kind) {
  rules_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const auto id = [&](const std::string& piece, const char* what) {
      return needed_piece(vocabulary, piece, what, kind);
    };
    const std::int32_t merged = id(left + right, "the merge");
    // Of a merge that is listed twice the later rank counts, as in the library tokenizers.
    rules_[key(id(left, "part of a merge"), id(right, "part of a merge"))] = {static_cast<std::int32_t>(rank),
                                                                              merged};
  }
}

void MergeRules::apply(std::vector<std::int32_t>& ids, std::size_t first) const {
  std::vector<Symbol> symbols;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::int32_t at) {
    if (at < 0 || symbols[at].after < 0) return;
    const std::int32_t left = symbols[at].id, right = symbols[symbols[at].after].id;
    if (const auto rule = rules_.find(key(left, right)); rule != rules_.end())
      candidates.push({rule->second.rank, at, left, right});
  };
  const auto size = static_cast<std::int32_t>(ids.size() - first);
  for (std::int32_t i = 0; i < size; ++i)
    symbols.push_back({ids[first + static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1});
  for (std::int32_t i = 0; i < size; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate next = candidates.top();
    candidates.pop();
    Symbol& left = symbols[next.at];
    if (left.id != next.left || left.after < 0 || symbols[left.after].id != next.right)
      continue;  // merged since
    Symbol& right = symbols[left.after];
    left.id = rules_.at(key(next.left, next.right)).merged;
    left.after = right.after;
    right.id = -1;
    if (left.after >= 0) symbols[left.after].before = next.at;
    consider(left.before);
    consider(next.at);
  }
  ids.resize(first);
  for (std::int32_t i = 0; i >= 0 && i < size; i = symbols[i].after) ids.push_back(symbols[i].id);
}

}  // namespace heed::text
