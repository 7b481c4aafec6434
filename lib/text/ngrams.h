// N-grams of a text, for metrics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heed::text {

/// Occurrences of each n-gram.
using NgramCounts = std::unordered_map<std::string_view, std::int64_t>;

/// The n-grams of `units`, which are consecutive in one text with uniform separators, so that an n-gram is a
/// substring of it.
inline NgramCounts ngrams(const std::vector<std::string_view>& units, std::size_t n) {
  NgramCounts counts;
  for (std::size_t i = 0; i + n <= units.size(); ++i) {
    const std::string_view last = units[i + n - 1];
    const auto size = static_cast<std::size_t>(last.data() + last.size() - units[i].data());
    ++counts[{units[i].data(), size}];
  }
  return counts;
}

inline std::int64_t total(const NgramCounts& counts) {
  std::int64_t sum = 0;
  for (const auto& entry : counts) sum += entry.second;
  return sum;
}

/// Number of n-grams common to both.
inline std::int64_t common(const NgramCounts& a, const NgramCounts& b) {
  std::int64_t sum = 0;
  for (const auto& [ngram, count] : a) {
    if (auto it = b.find(ngram); it != b.end()) sum += std::min(count, it->second);
  }
  return sum;
}

}  // namespace heed::text
