#include "nn/attention/step_attention.h"

#include "autograd/ops.h"
#include "base/instantiate.h"

namespace heed {

namespace {

/// W of a map; keys are d_k wide.
template <class T>
Var<T> weight_of(const Scope<T>& scope, const ScoreMap& map, std::int64_t d_k) {
  Var<T> w = scope.parameter(map.weight);
  if (map.part == ScoreMap::Part::transposed) return scope.tape().transposed(w);
  return scope.tape().row_range(w, map.first(w.rows(), d_k), map.count(w.rows(), d_k));
}

/// A parameter that may be absent.
template <class T>
Var<T> parameter_if(const Scope<T>& scope, const char* name) {
  return name && scope.has(name) ? scope.parameter(name) : Var<T>();
}

/// How queries and keys become what is compared.
constexpr ScoreMap kQueryProjection{"query/weight"}, kKeyProjection{"key/weight", {}, "query/bias"};
const ScoreMap& query_map(const ScoreFunction& score) {
  return score.projected ? kQueryProjection : score.query;
}
const ScoreMap& key_map(const ScoreFunction& score) {
  return score.projected ? kKeyProjection : score.key;
}

}  // namespace

template <class T>
void add_attention(ParameterSet<T>& parameters, const std::string& scope, const AttentionConfig& config,
                   const ScoreSizes& sizes, const std::function<Init(const NamedShape&)>& init,
                   bool query_bias, bool context_gate) {
  auto add = [&](const char* name, const Shape& shape) {
    parameters.add(scope + "/" + name, shape, init({name, shape}));
  };
  const std::int64_t a = sizes.hidden;
  if (config.score->projected) {
    add("query/weight", {sizes.d_q, a});
    if (query_bias) add("query/bias", {a});
    add("key/weight", {sizes.d_k, a});
  }
  for (const ScoreParameter& parameter : config.score->parameters) {
    if (!parameter.optional) add(parameter.name, parameter.shape_of(sizes));
  }
  if (config.window == Window::local_p) {
    add("position/query/weight", {sizes.d_q, a});
    add("position/score/weight", {a});
  }
  if (context_gate) {
    add("gate/weight", {sizes.d_q, 1});
    add("gate/bias", {1});
  }
}

template <class T>
AttentionMemory<T> prepare_memory(const Scope<T>& scope, const AttentionConfig& config, Var<T> states,
                                  const Packing& rows) {
  const ScoreMap& map = key_map(*config.score);
  Var<T> key = states;
  if (map) key = linear(states, weight_of(scope, map, states.cols()), parameter_if(scope, map.bias));
  return {scope.name("value", states, rows), scope.name("key", key, rows), &rows};
}

template <class T>
StepAttention<T>::StepAttention(const Scope<T>& scope, const AttentionConfig& config,
                                const AttentionMemory<T>& memory, std::int64_t rows)
    : scope_(scope),
      config_(config),
      memory_(memory),
      keys_(compare_with(*config.score, memory.key)),
      weight_(parameter_if(scope, config.score->weight)) {
  if (const ScoreMap& map = query_map(*config.score))
    query_.emplace(weight_of(scope, map, memory.value.cols()), rows, parameter_if(scope, map.bias));
  if (config.window == Window::local_p) position_.emplace(scope.parameter("position/query/weight"), rows);
  if (scope.has("gate/weight"))
    gate_.emplace(scope.parameter("gate/weight"), rows, scope.parameter("gate/bias"));
  if (!config.hard) return;
  random_ = scope.random();
  for (std::int64_t s = 0; s < memory.rows->sentences(); ++s)
    expects_.push_back(scope.pass().training && random_->uniform() < config.expected_share);
}

template <class T>
auto StepAttention<T>::operator()(Var<T> state, const StepRows& rows,
                                  const std::vector<SampleStream>& sampled) -> Step {
  const AtStep<T> at_step(scope_.pass(), rows);
  const Packing& source = *memory_.rows;
  StepKeys at{rows.sentences, &source};
  Var<T> position;
  if (position_) {
    const Var<T> inner = activate(Activation::tanh, (*position_)(state));  // [n, a]
    position = predicted_positions(inner, scope_.parameter("position/score/weight"), at);
    position = scope_.name("position", position);
  }
  const std::vector<KeyWindow> windows = this->windows(rows, position);
  at.windows = windows;

  Step step;
  const Var<T> query = scope_.name("query", query_ ? (*query_)(state) : state);
  const Var<T> scores = scope_.name_attention(
      "scores", attention_scores(*config_.score, query, keys_, weight_, at), source);  // [n, longest source]
  Var<T> weights = softmax(scores);
  if (position_ || config_.hard || config_.names_probabilities)
    weights = scope_.name_attention("probabilities", weights, source);
  step.probabilities = weights;
  if (position_) weights = favour_near(weights, position, config_.reach, at);
  if (config_.hard) {
    step.chosen = choices(weights, rows, sampled);
    weights = choose(weights, step.chosen);
  }
  weights = scope_.name_attention("weights", weights, source);
  Var<T> context = weighted_sum(weights, memory_.value, at);  // [n, d_v]
  if (gate_) {
    const Var<T> beta = scope_.name("gate", activate(Activation::sigmoid, (*gate_)(state)));  // [n, 1]
    context = scale_rows(context, beta);
  }
  step.context = scope_.name("context", context);
  return step;
}

template <class T>
std::vector<KeyWindow> StepAttention<T>::windows(const StepRows& rows, Var<T> position) const {
  std::vector<KeyWindow> windows;
  if (config_.window == Window::global) return windows;
  for (std::size_t i = 0; i < rows.sentences.size(); ++i) {
    const double p = position ? static_cast<double>(position.value()(static_cast<std::int64_t>(i), 0))
                              : static_cast<double>(rows.step_of(i));
    windows.push_back(window_around(p, config_.reach, memory_.rows->length(rows.sentences[i])));
  }
  return windows;
}

template <class T>
std::vector<std::int64_t> StepAttention<T>::choices(Var<T> weights, const StepRows& rows,
                                                    const std::vector<SampleStream>& sampled) {
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < rows.sentences.size(); ++i) {
    const std::int64_t sentence = rows.sentences[i];
    const std::span<const T> row(weights.value().row(static_cast<std::int64_t>(i)),
                                 static_cast<std::size_t>(memory_.rows->length(sentence)));
    if (expects_[static_cast<std::size_t>(sentence)]) {
      chosen.push_back(kExpected);
    } else if (scope_.pass().training) {
      chosen.push_back(drawn_key(row, random_->uniform()));
    } else if (!sampled.empty()) {
      Random random = sampled[i].at(static_cast<std::uint64_t>(rows.step_of(i)));
      random.uniform();  // the word's
      chosen.push_back(drawn_key(row, random.uniform()));
    } else {
      chosen.push_back(largest_key(row));
    }
  }
  return chosen;
}

HEED_INSTANTIATE(add_attention)
HEED_INSTANTIATE(prepare_memory)
HEED_INSTANTIATE_CLASS(StepAttention)

}  // namespace heed
