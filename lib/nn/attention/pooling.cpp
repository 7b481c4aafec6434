#include "nn/attention/pooling.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "base/instantiate.h"
#include "nn/attention/weights.h"
#include "tensor/padding.h"

namespace heed {

namespace {

/// Converts values over the keys of `from` to the keys of `to`, among which each query sees the same ones.
template <class T>
Var<T> moved(Var<T> v, const StepKeys& from, const StepKeys& to, T unseen) {
  Tape<T>& tape = v.tape();
  Var<T> y = tape.result(to.queries(), to.keys->longest());
  const Matrix<T> out = tape.mutable_value(y);
  std::fill_n(out.data, out.size(), unseen);
  each_query(to, [&](std::int64_t i, const StepKeys::Seen& seen) {
    copy_rows(from.seen(i).columns_of(v.value().row_range(i, 1)), seen.columns_of(out.row_range(i, 1)));
  });
  return y;
}

/// Names the scores or weights `v` of `at` as those of `shown`, and returns them after edits.
template <class T>
Var<T> named(const Scope<T>& scope, const std::string& name, Var<T> v, const StepKeys& at,
             const StepKeys& shown, T unseen) {
  if (!scope.inspected(name)) return v;
  const Var<T> all = scope.name_attention(name, moved(v, at, shown, unseen), *shown.keys);
  return scope.edits(name) ? moved(all, shown, at, unseen) : v;
}

}  // namespace

template <class T>
void add_pooling(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add(scope + "/query/weight", {d, d}, Init::xavier(d, d));
  parameters.add(scope + "/query/bias", {d}, Init::zeros());
  parameters.add(scope + "/score/weight", {d}, Init::xavier(d, 1));
}

template <class T>
Var<T> pool(const Scope<T>& scope, Var<T> states, const StepRows& queries, const StepKeys& at,
            const StepKeys& shown) {
  const AtStep<T> at_step(scope.pass(), queries);
  const Var<T> u =
      linear(states, scope.parameter("query/weight"), scope.parameter("query/bias"), Activation::tanh);
  const Var<T> u_c =
      select_rows<T>({scope.parameter("score/weight")}, std::vector<RowOf>(at.sentences.size()));
  const ScoreFunction& score = score_function("dot");
  const Var<T> scores = named(scope, "scores", attention_scores(score, u_c, compare_with(score, u), {}, at),
                              at, shown, -std::numeric_limits<T>::infinity());
  return weighted_sum(named(scope, "weights", softmax(scores), at, shown, T{0}), states, at);
}

HEED_INSTANTIATE(add_pooling)
HEED_INSTANTIATE(pool)

}  // namespace heed
