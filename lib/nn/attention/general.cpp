// q^T W k, Luong, Pham, Manning 2015, section 3.1: the dot product of q and W k, which is computed once per
// memory.
#include "nn/attention/score_list.h"

namespace heed {

ScoreFunction general_score() {
  ScoreFunction score = dot_score();
  score.name = "general";
  score.formula = "q W k";
  score.parameters = {{"score/weight", "W", {Size::query, Size::key}}};
  score.key = {"score/weight", ScoreMap::Part::transposed};
  return score;
}

}  // namespace heed
