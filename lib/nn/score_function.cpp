#include "nn/score_function.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace heed {

const std::vector<std::string>& score_function_names() {
  static const std::vector<std::string> names{"dot",      "scaled-dot", "general",
                                              "additive", "concat",     "location"};
  return names;
}

ScoreFunction score_function(const std::string& name) {
  const auto& names = score_function_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) fail<UsageError>("score: got '", escaped(name), "', which is none");
  return static_cast<ScoreFunction>(found - names.begin());
}

std::vector<NamedShape> score_parameters(ScoreFunction score, const ScoreSizes& sizes) {
  switch (score) {
    case ScoreFunction::dot:
    case ScoreFunction::scaled_dot:
      return {};
    case ScoreFunction::general:
      return {{"score/weight", {sizes.d_q, sizes.d_k}}};
    case ScoreFunction::additive:
      return {{"score/weight", {sizes.hidden}}};
    case ScoreFunction::concat:
      return {{"concat/weight", {sizes.d_q + sizes.d_k, sizes.hidden}}, {"score/weight", {sizes.hidden}}};
    case ScoreFunction::location:
      return {{"score/weight", {sizes.d_q, sizes.positions}}};
  }
  return {};
}

KeyWindow window_around(double p, std::int64_t d, std::int64_t keys) {
  const double width = static_cast<double>(d), last = static_cast<double>(keys - 1);
  const double low = std::max(0.0, std::ceil(p - width)), high = std::min(last, std::floor(p + width));
  if (!(low <= high)) return {0, 0};
  const auto first = static_cast<std::int64_t>(low);
  return {first, static_cast<std::int64_t>(high) - first + 1};
}

double window_factor(std::int64_t s, double p, std::int64_t d) {
  const double distance = (static_cast<double>(s) - p) / (static_cast<double>(d) / 2);
  return std::exp(-distance * distance / 2);
}

}  // namespace heed
