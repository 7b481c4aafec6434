#include "text/bpe.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/error.h"
#include "text/drawn_pieces.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kEndOfWord = "</w>";

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

void count_words(std::string_view line, WordCounts& counts) {
  for (std::string_view word : split_any(line, " \r")) ++find_or_add(counts, word)->second;
}

WordCounts::iterator find_or_add(WordCounts& counts, std::string_view word) {
  const auto found = counts.find(word);
  return found == counts.end() ? counts.emplace(word, 0).first : found;
}

std::vector<std::pair<std::string_view, std::int64_t>> in_order(const WordCounts& counts) {
  std::vector<std::pair<std::string_view, std::int64_t>> words(counts.begin(), counts.end());
  std::ranges::sort(words);
  return words;
}

BpeCodes::BpeCodes(std::vector<Merge> merges, int version) : merges_(std::move(merges)), version_(version) {}

BpeCodes::Tables::Tables(const std::vector<Merge>& merges) {
  symbols.reserve(merges.size() + merges.size() / 4);  // most symbols come from a merge
  rules.reserve(merges.size());
  origin.reserve(symbols.bucket_count());
  const auto intern = [&](const std::string& symbol) {
    const auto [found, is_new] = symbols.emplace(symbol, static_cast<std::int32_t>(symbols.size()));
    if (is_new) origin.push_back(-1);
    return found->second;
  };
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    const std::uint64_t key = key_of(intern(left), intern(right));
    const Rule rule{static_cast<std::int32_t>(i), intern(left + right)};
    if (!rules.emplace(key, rule).second) continue;  // the first of equal merges counts
    std::int32_t& from = origin[static_cast<std::size_t>(rule.merged)];
    if (from < 0) from = rule.rank;
  }
}

const BpeCodes::Tables& BpeCodes::tables() const {
  std::call_once(lazy_->once, [&] { lazy_->tables.emplace(merges_); });
  return *lazy_->tables;
}

BpeCodes BpeCodes::parse(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<Merge> merges;
  int version = 1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 && lines[i].starts_with("#version:")) {
      version = lines[i].find("0.2") != std::string::npos ? 2 : 1;
      continue;
    }
    std::vector<std::string_view> pair = split_any(lines[i], " \r");
    if (pair.size() != 2) {
      fail(name, ':', i + 1, ": \"", escaped(lines[i]),
           "\" is not a merge (two symbols with a space between): is it a subword-nmt codes file?");
    }
    merges.emplace_back(pair[0], pair[1]);
  }
  return BpeCodes(std::move(merges), version);
}

std::vector<std::string> BpeCodes::lines() const {
  std::vector<std::string> list;
  if (version_ == 2) list.push_back("#version: 0.2");
  for (const auto& [left, right] : merges_) list.push_back(left + " " + right);
  return list;
}

std::int32_t BpeCodes::find(const std::string& symbol) const {
  const auto it = tables().symbols.find(symbol);
  return it == tables().symbols.end() ? -1 : it->second;
}

std::vector<BpeCodes::Part> BpeCodes::parts_of(std::string_view word) const {
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (std::string_view character : characters(word)) {
    std::size_t end = begin + character.size();
    bool marked = version_ == 2 && end == word.size();
    std::string symbol = std::string(character) + std::string(marked ? kEndOfWord : "");
    parts.push_back({find(symbol), begin, end});
    begin = end;
  }
  if (version_ == 1) parts.push_back({find(std::string(kEndOfWord)), begin, begin});
  return parts;
}

const BpeCodes::Rule* BpeCodes::rule(const Part& left, const Part& right) const {
  if (left.symbol < 0 || right.symbol < 0) return nullptr;
  const auto it = tables().rules.find(key_of(left.symbol, right.symbol));
  return it == tables().rules.end() ? nullptr : &it->second;
}

/// A word whose parts are being merged. Those left form a list; `waiting_` holds the merges that fitted when
/// they were noted, the one learned first on top, from left to right.
class BpeCodes::Word {
 public:
  Word(const BpeCodes& codes, std::vector<Part> parts) : codes_(codes), parts_(std::move(parts)) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      before_.push_back(i - 1);
      after_.push_back(i + 1);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) note(i);
  }

  /// Repeatedly applies, of the merges that match, the one learned first, until none matches.
  std::vector<Part> merged() {
    while (!waiting_.empty()) {
      const std::int32_t rank = waiting_.top().first;
      std::vector<std::size_t> changed;
      for (; !waiting_.empty() && waiting_.top().first == rank; waiting_.pop()) {
        const std::size_t left = waiting_.top().second;
        const Rule* const rule = rule_at(left);
        if (!rule || rule->rank != rank) continue;  // another merge took one of the parts
        merge(left, rule->merged);
        changed.push_back(left);
      }
      // Only now: a merge learned earlier that fits a result waits until this one is done everywhere.
      for (const std::size_t i : changed) {
        if (is_left(before_[i])) note(before_[i]);
        note(i);
      }
    }
    std::vector<Part> left;
    for (std::size_t i = 0; i < parts_.size(); i = after_[i]) left.push_back(parts_[i]);
    return left;
  }

 private:
  static constexpr std::size_t kTaken = static_cast<std::size_t>(-2);

  bool is_left(std::size_t i) const { return i < parts_.size() && after_[i] != kTaken; }

  const Rule* rule_at(std::size_t left) const {
    if (!is_left(left) || after_[left] >= parts_.size()) return nullptr;
    return codes_.rule(parts_[left], parts_[after_[left]]);
  }

  void note(std::size_t left) {
    if (const Rule* rule = rule_at(left)) waiting_.emplace(rule->rank, left);
  }

  void merge(std::size_t left, std::int32_t symbol) {
    const std::size_t right = after_[left], next = after_[right];
    parts_[left] = {symbol, parts_[left].begin, parts_[right].end};
    after_[left] = next;
    if (next < parts_.size()) before_[next] = left;
    after_[right] = kTaken;
  }

  using Place = std::pair<std::int32_t, std::size_t>;  ///< rank, left part
  const BpeCodes& codes_;
  std::vector<Part> parts_;
  std::vector<std::size_t> before_, after_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting_;
};

std::vector<std::string> BpeCodes::segment(std::string_view word) const {
  std::vector<std::string> segments;
  for (const Part& part : Word(*this, parts_of(word)).merged()) {
    if (part.end > part.begin) segments.emplace_back(word.substr(part.begin, part.end - part.begin));
  }
  return segments;
}

std::vector<std::string> BpeCodes::segment(std::string_view word, double dropout, Random& random) const {
  std::vector<std::string> segments;
  for (const Part& part : parts_of(word))
    segments.emplace_back(word.substr(part.begin, part.end - part.begin));
  if (version_ == 2 && !segments.empty()) segments.back() += kEndOfWord;
  if (version_ == 1 && !segments.empty()) segments.back() = kEndOfWord;
  const MergeRank rank = [&](const std::string& left, const std::string& right) -> std::optional<double> {
    const Rule* const found = rule({find(left), 0, 0}, {find(right), 0, 0});
    if (!found) return std::nullopt;
    return found->rank;
  };
  segments = merge_with_dropout(std::move(segments), rank, dropout, random);
  if (segments.empty()) return segments;
  segments.back().resize(segments.back().size() - kEndOfWord.size());
  if (segments.back().empty()) segments.pop_back();  // the mark of version 1 alone
  return segments;
}

Merge BpeCodes::split(const std::string& segment, bool final) const {
  const std::int32_t symbol = find(final ? segment + std::string(kEndOfWord) : segment);
  const std::int32_t from = symbol < 0 ? -1 : tables().origin[static_cast<std::size_t>(symbol)];
  if (from < 0) return {};
  Merge parts = merges_[static_cast<std::size_t>(from)];
  if (final) parts.second.resize(parts.second.size() - kEndOfWord.size());
  return parts;
}

}  // namespace heed::text
