#include "nn/attention/score_function.h"

#include <algorithm>

#include "base/error.h"
#include "nn/attention/score_list.h"

namespace heed {

std::int64_t ScoreSizes::of(Size size) const {
  switch (size) {
    case Size::query:
      return d_q;
    case Size::key:
      return d_k;
    case Size::both:
      return d_q + d_k;
    case Size::hidden:
      return hidden;
    case Size::positions:
      return positions;
  }
  return 0;
}

Shape ScoreParameter::shape_of(const ScoreSizes& sizes) const {
  Shape resolved;
  for (const Size size : shape) resolved.push_back(sizes.of(size));
  return resolved;
}

bool ScoreFunction::knows_positions() const {
  return std::any_of(parameters.begin(), parameters.end(), [](const ScoreParameter& p) {
    return std::find(p.shape.begin(), p.shape.end(), Size::positions) != p.shape.end();
  });
}

const std::vector<ScoreFunction>& score_functions() {
#define HEED_LIST(name) name##_score(),
  static const std::vector<ScoreFunction> list{HEED_SCORE_FUNCTIONS(HEED_LIST)};
#undef HEED_LIST
  return list;
}

std::vector<std::string> score_function_names() {
  std::vector<std::string> names;
  for (const ScoreFunction& score : score_functions()) names.push_back(score.name);
  return names;
}

const ScoreFunction& score_function(const std::string& name) {
  for (const ScoreFunction& score : score_functions()) {
    if (score.name == name) return score;
  }
  std::string names;
  for (const std::string& one : score_function_names()) names += (names.empty() ? "" : ", ") + one;
  fail<UsageError>("score: got '", escaped(name), "', wanted one of ", names);
}

std::string score_function_help() {
  const char* const letters[] = {"q", "k", "q + k", "a", "positions"};
  std::string help;
  for (const ScoreFunction& score : score_functions()) {
    if (score.parameters.empty()) continue;
    help += "  --score " + score.name + ": " + score.formula;
    for (const ScoreParameter& parameter : score.parameters) {
      std::string shape;
      for (const Size size : parameter.shape)
        shape += (shape.empty() ? "" : ", ") + std::string(letters[static_cast<std::size_t>(size)]);
      help += concat("; ", parameter.name, " ", parameter.letter, " [", shape, "]",
                     parameter.optional ? ", if any" : "");
    }
    help += "\n";
  }
  return help;
}

}  // namespace heed
