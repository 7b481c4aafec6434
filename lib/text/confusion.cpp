#include "text/confusion.h"

#include <algorithm>
#include <set>

#include "base/number.h"

namespace heed::text {

std::string label_of(const std::string& line) {
  constexpr const char* kSpaces = " \t\r";
  const std::string text = line.substr(0, line.find('\t'));
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

void Confusion::add(const std::string& truth, const std::string& prediction) {
  ++counts_[{truth, prediction}];
}

std::vector<std::string> Confusion::labels() const {
  std::set<std::string> all;
  for (const auto& [pair, count] : counts_) all.insert({pair.first, pair.second});
  return {all.begin(), all.end()};
}

std::vector<std::int32_t> Confusion::counts() const {
  const std::vector<std::string> all = labels();
  const auto place = [&](const std::string& label) {
    return static_cast<std::size_t>(std::ranges::lower_bound(all, label) - all.begin());
  };
  std::vector<std::int32_t> matrix(all.size() * all.size());
  for (const auto& [pair, count] : counts_)
    matrix[place(pair.first) * all.size() + place(pair.second)] = count;
  return matrix;
}

ConfusionScore Confusion::score() const {
  const std::vector<std::string> all = labels();
  const std::vector<std::int32_t> matrix = counts();
  ConfusionScore score;
  std::int64_t right = 0;
  double f1 = 0;
  for (std::size_t l = 0; l < all.size(); ++l) {
    std::int64_t truth = 0, predicted = 0;
    for (std::size_t other = 0; other < all.size(); ++other) {
      truth += matrix[l * all.size() + other];
      predicted += matrix[other * all.size() + l];
    }
    const std::int64_t both = matrix[l * all.size() + l];
    score.labels.push_back({all[l], percent(both, predicted), percent(both, truth),
                            percent(2 * both, truth + predicted), truth});
    score.lines += truth;
    right += both;
    f1 += score.labels.back().f1;
  }
  score.accuracy = percent(right, score.lines);
  score.macro_f1 = all.empty() ? 0 : f1 / static_cast<double>(all.size());
  return score;
}

}  // namespace heed::text
