#include "nn/score_function.h"

#include <algorithm>

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

}  // namespace heed
