#include "text/drawn_pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/unicode.h"

namespace heed::text {

std::vector<std::string> merge_with_dropout(std::vector<std::string> parts, const MergeRank& rank,
                                            double dropout, Random& random) {
  std::vector<std::optional<double>> ranks;  // of each part with the next
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) ranks.push_back(rank(parts[i], parts[i + 1]));
  for (;;) {
    std::optional<double> best;
    std::size_t left = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::optional<double>& here = ranks[i];
      if (!here || (dropout > 0 && random.uniform() < dropout) || (best && *here >= *best)) continue;
      best = here;
      left = i;
    }
    if (!best) return parts;
    parts[left] += parts[left + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    ranks.erase(ranks.begin() + static_cast<std::ptrdiff_t>(left));
    if (left > 0) ranks[left - 1] = rank(parts[left - 1], parts[left]);
    if (left < ranks.size()) ranks[left] = rank(parts[left], parts[left + 1]);
  }
}

std::vector<std::string> draw_unigrams(std::string_view text, const PieceScore& score, std::size_t longest,
                                       double alpha, Random& random) {
  const std::vector<std::string_view> all = characters(text);
  const auto piece = [&](std::size_t begin, std::size_t end) {
    const auto last = all[end - 1].data() + all[end - 1].size();
    return std::string_view(all[begin].data(), static_cast<std::size_t>(last - all[begin].data()));
  };
  struct Edge {
    std::size_t begin;
    double weight;  ///< logarithm of alpha's power of its probability
  };
  std::vector<std::vector<Edge>> ending(all.size() + 1);
  std::vector<double> reached(all.size() + 1,
                              0);  // logarithm of the sum over the segmentations of the text before
  for (std::size_t end = 1; end <= all.size(); ++end) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t begin = end - std::min(end, longest); begin < end; ++begin) {
      const std::optional<double> log_p = score(piece(begin, end));
      if (!log_p) continue;
      ending[end].push_back({begin, alpha * *log_p});
      most = std::max(most, reached[begin] + ending[end].back().weight);
    }
    for (const Edge& edge : ending[end]) sum += std::exp(reached[edge.begin] + edge.weight - most);
    reached[end] = most + std::log(sum);
  }
  std::vector<std::string> drawn;
  for (std::size_t end = all.size(); end > 0;) {
    double left = random.uniform();
    std::size_t chosen = 0;
    for (; chosen + 1 < ending[end].size(); ++chosen) {
      const Edge& edge = ending[end][chosen];
      left -= std::exp(reached[edge.begin] + edge.weight - reached[end]);
      if (left < 0) break;
    }
    const std::size_t begin = ending[end][chosen].begin;
    drawn.emplace_back(piece(begin, end));
    end = begin;
  }
  std::ranges::reverse(drawn);
  return drawn;
}

}  // namespace heed::text
