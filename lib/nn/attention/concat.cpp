// v^T tanh(W [q; k] + b), Luong, Pham, Manning 2015, section 3.1; the paper has no b. W [q; k] is the sum of
// a map of the query, by W's first d_q rows, and one of the key, which is computed once per memory: what is
// left is the additive score.
#include "nn/attention/score_list.h"

namespace heed {

ScoreFunction concat_score() {
  ScoreFunction score = additive_score();
  score.name = "concat";
  score.formula = "v tanh([q; k] W + b)";
  score.projected = false;
  score.parameters = {{"concat/weight", "W", {Size::both, Size::hidden}, false, true},
                      {"concat/bias", "b", {Size::hidden}, true},
                      {"score/weight", "v", {Size::hidden}}};
  score.query = {"concat/weight", ScoreMap::Part::query_rows, "concat/bias"};
  score.key = {"concat/weight", ScoreMap::Part::key_rows};
  return score;
}

}  // namespace heed
