#include "text/bpe.h"

#include "base/error.h"
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
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  while (!line.empty() && (line.front() == '\r' || line.front() == ' ')) line.remove_prefix(1);
  for (std::string_view word : split_any(line, " ")) {
    auto it = counts.find(word);
    if (it == counts.end()) it = counts.emplace(word, 0).first;
    ++it->second;
  }
}

BpeCodes::BpeCodes(std::vector<Merge> merges, int version) : merges_(std::move(merges)), version_(version) {
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto& [left, right] = merges_[i];
    std::uint64_t key = key_of(intern(left), intern(right));
    Rule rule{static_cast<std::int32_t>(i), intern(left + right)};
    if (!rules_.emplace(key, rule).second) continue;  // the first of equal merges counts
    origin_.emplace(left + right, i);
  }
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

std::int32_t BpeCodes::intern(const std::string& symbol) {
  return symbols_.emplace(symbol, static_cast<std::int32_t>(symbols_.size())).first->second;
}

std::int32_t BpeCodes::find(const std::string& symbol) const {
  auto it = symbols_.find(symbol);
  return it == symbols_.end() ? -1 : it->second;
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
  auto it = rules_.find(key_of(left.symbol, right.symbol));
  return it == rules_.end() ? nullptr : &it->second;
}

/// Applies the merge that was learned first wherever it fits, from left to right. False when none fits.
bool BpeCodes::apply_first_rule(std::vector<Part>& parts) const {
  const Rule* first = nullptr;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const Rule* here = rule(parts[i], parts[i + 1]);
    if (here && (!first || here->rank < first->rank)) first = here;
  }
  if (!first) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i, ++kept) {
    if (i + 1 < parts.size() && rule(parts[i], parts[i + 1]) == first) {
      parts[kept] = {first->merged, parts[i].begin, parts[i + 1].end};
      ++i;
    } else {
      parts[kept] = parts[i];
    }
  }
  parts.resize(kept);
  return true;
}

std::vector<std::string> BpeCodes::segment(std::string_view word) const {
  std::vector<Part> parts = parts_of(word);
  while (apply_first_rule(parts)) {
  }
  std::vector<std::string> segments;
  for (const Part& part : parts) {
    if (part.end > part.begin) segments.emplace_back(word.substr(part.begin, part.end - part.begin));
  }
  return segments;
}

Merge BpeCodes::split(const std::string& segment, bool final) const {
  auto it = origin_.find(final ? segment + std::string(kEndOfWord) : segment);
  if (it == origin_.end()) return {};
  Merge parts = merges_[it->second];
  if (final) parts.second.resize(parts.second.size() - kEndOfWord.size());
  return parts;
}

}  // namespace heed::text
