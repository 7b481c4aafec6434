// Learning merges as subword-nmt's learn_bpe does: counts of pairs are updated word by word, and pairs too
// rare to be chosen soon are set aside. This can lose counts when a symbol arises by two different merges; as
// published codes depend on it, every step is reproduced here.
#include <limits>
#include <unordered_map>

#include "text/bpe.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Symbol = std::int32_t;
using Symbols = std::vector<Symbol>;
using Pair = std::pair<Symbol, Symbol>;

struct PairHash {
  std::size_t operator()(const Pair& p) const {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(p.first) << 32) ^
                                      static_cast<std::uint64_t>(p.second) * 0x9E3779B97F4A7C15u);
  }
};

using PairCount = std::pair<Pair, std::int64_t>;
constexpr PairCount kNoPair{{-1, -1}, std::numeric_limits<std::int64_t>::min()};
using PairCounts = std::unordered_map<Pair, std::int64_t, PairHash>;

struct Word {
  Symbols symbols;
  std::int64_t count;
};

struct Change {
  std::size_t word;
  Symbols before;
};

class Learner {
 public:
  explicit Learner(const WordCounts& counts) {
    for (const auto& [word, count] : in_order(counts)) {
      Word entry{{}, count};
      std::vector<std::string_view> chars = characters(word);
      for (std::size_t i = 0; i < chars.size(); ++i) {
        entry.symbols.push_back(intern(std::string(chars[i]) + (i + 1 == chars.size() ? "</w>" : "")));
      }
      words_.push_back(std::move(entry));
    }
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const Symbols& symbols = words_[w].symbols;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) add({symbols[i], symbols[i + 1]}, w, 1);
    }
    all_ = active_;
  }

  std::vector<Merge> learn(std::int64_t merges, std::int64_t min_frequency) {
    std::vector<Merge> learned;
    if (active_.empty()) return learned;
    double threshold = static_cast<double>(most_frequent().second) / 10;
    for (std::int64_t i = 0; i < merges; ++i) {
      PairCount best = most_frequent();
      if (i > 0 && static_cast<double>(best.second) < threshold) {
        set_aside(threshold);
        active_ = all_;
        best = most_frequent();
        threshold =
            static_cast<double>(best.second) * static_cast<double>(i) / (static_cast<double>(i) + 10000.0);
        set_aside(threshold);
      }
      if (best.second < min_frequency) break;
      const Pair pair = best.first;
      learned.emplace_back(names_[pair.first], names_[pair.second]);
      Symbol merged = intern(names_[pair.first] + names_[pair.second]);
      std::vector<Change> changes = replace(pair, merged);
      active_[pair] = 0;
      where_[pair].clear();
      for (const Change& change : changes) {
        forget_old_neighbours(pair, change);
        count_new_neighbours(merged, change);
      }
      active_[pair] = 0;
      if (i % 100 == 0) set_aside(threshold);
    }
    return learned;
  }

 private:
  Symbol intern(const std::string& symbol) {
    auto [it, is_new] = symbols_.emplace(symbol, static_cast<Symbol>(names_.size()));
    if (is_new) names_.push_back(symbol);
    return it->second;
  }

  void add(const Pair& pair, std::size_t word, std::int64_t sign) {
    active_[pair] += sign * words_[word].count;
    where_[pair][word] += sign;
  }

  bool less(const Pair& a, const Pair& b) const {
    int order = names_[a.first].compare(names_[b.first]);
    return order != 0 ? order < 0 : names_[a.second] < names_[b.second];
  }

  PairCount most_frequent() const {
    PairCount best = kNoPair;
    for (const auto& [pair, count] : active_) {
      if (count > best.second || (count == best.second && less(best.first, pair))) best = {pair, count};
    }
    return best;
  }

  void set_aside(double threshold) {
    std::erase_if(active_, [&](const auto& entry) {
      const auto& [pair, count] = entry;
      if (static_cast<double>(count) >= threshold) return false;
      if (count < 0) {
        all_[pair] += count;
      } else {
        all_[pair] = count;
      }
      return true;
    });
  }

  std::vector<Change> replace(const Pair& pair, Symbol merged) {
    std::vector<Change> changes;
    for (const auto& [w, occurrences] : where_[pair]) {
      if (occurrences < 1) continue;
      Symbols& symbols = words_[w].symbols;
      changes.push_back({w, symbols});
      std::size_t kept = 0;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        bool here = i + 1 < symbols.size() && symbols[i] == pair.first && symbols[i + 1] == pair.second;
        symbols[kept++] = here ? merged : symbols[i];
        if (here) ++i;
      }
      symbols.resize(kept);
    }
    return changes;
  }

  void forget_old_neighbours(const Pair& pair, const Change& change) {
    const Symbols& old = change.before;
    for (std::size_t i = 0; i + 1 < old.size();) {
      if (old[i] != pair.first || old[i + 1] != pair.second) {
        ++i;
        continue;
      }
      if (i > 0) add({old[i - 1], old[i]}, change.word, -1);
      bool again = i + 3 < old.size() && old[i + 2] == pair.first && old[i + 3] == pair.second;
      if (i + 2 < old.size() && !again) add({old[i + 1], old[i + 2]}, change.word, -1);
      i += 2;
    }
  }

  void count_new_neighbours(Symbol merged, const Change& change) {
    const Symbols& now = words_[change.word].symbols;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] != merged) continue;
      if (i > 0) add({now[i - 1], now[i]}, change.word, 1);
      if (i + 1 < now.size() && now[i + 1] != merged) add({now[i], now[i + 1]}, change.word, 1);
    }
  }

  std::vector<std::string> names_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::vector<Word> words_;
  PairCounts active_;  ///< counts of the pairs that may be chosen soon
  PairCounts all_;     ///< counts of the pairs set aside
  std::unordered_map<Pair, std::unordered_map<std::size_t, std::int64_t>, PairHash>
      where_;  ///< pair -> words
};

}  // namespace

std::vector<Merge> learn_bpe(const WordCounts& counts, std::int64_t merges, std::int64_t min_frequency) {
  return Learner(counts).learn(merges, min_frequency);
}

}  // namespace heed::text
