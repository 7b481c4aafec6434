#include "nn/attention/pooling.h"

#include <vector>

#include "autograd/ops_recurrent.h"
#include "base/instantiate.h"
#include "nn/attention/weights.h"

namespace heed {

template <class T>
void add_pooling(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add(scope + "/query/weight", {d, d}, Init::xavier(d, d));
  parameters.add(scope + "/query/bias", {d}, Init::zeros());
  parameters.add(scope + "/score/weight", {d}, Init::xavier(d, 1));
}

template <class T>
Var<T> pool(const Scope<T>& scope, Var<T> states, const StepRows& queries, const StepKeys& at) {
  const AtStep<T> at_step(scope.pass(), queries);
  const Var<T> u =
      linear(states, scope.parameter("query/weight"), scope.parameter("query/bias"), Activation::tanh);
  const Var<T> u_c =
      select_rows<T>({scope.parameter("score/weight")}, std::vector<RowOf>(at.sentences.size()));
  const ScoreFunction& score = score_function("dot");
  const Var<T> scores =
      scope.name_attention("scores", attention_scores(score, u_c, compare_with(score, u), {}, at), *at.keys);
  return weighted_sum(scope.name_attention("weights", softmax(scores), *at.keys), states, at);
}

HEED_INSTANTIATE(add_pooling)
HEED_INSTANTIATE(pool)

}  // namespace heed
