#include "nn/attention/multi_head_attention.h"

#include <cmath>

#include "autograd/ops.h"
#include "base/instantiate.h"
#include "nn/attention/score_function.h"

namespace heed {

namespace {

// fairseq's choice, with which the published Multi30k figures were reached: query, key and value start
// smaller.
Init projection_init(std::int64_t d) {
  return Init::xavier(d, d, 1 / std::sqrt(2.0));
}

template <class T>
Var<T> project(const Scope<T>& scope, Var<T> x, const std::vector<std::string>& parts) {
  return linear(x, scope.stacked(parts, "weight"), scope.stacked(parts, "bias"));
}

template <class T>
AttentionOptions options_of(const Scope<T>& scope, std::int64_t d, bool causal, const HeadConfig& config) {
  AttentionOptions options;
  options.n_heads = config.n_heads;
  options.scale = scaled_dot_factor(d / config.n_heads);
  options.causal = causal;
  options.drop = scope.dropout(config.dropout);
  options.keep_scores = scope.wants("scores");
  return options;
}

/// The context W_o + b_o.
template <class T>
Var<T> join(const Scope<T>& scope, Var<T> context, const Packing& rows, const HeadConfig& config) {
  context = scope.name("context", context, rows, config.n_heads);
  Scope<T> out = scope / "output";
  return scope.name("output", linear(context, out.parameter("weight"), out.parameter("bias")), rows);
}

/// `rows`: the packing of the queries; `groups` the same rows, a group for each sentence of the keys.
template <class T>
Var<T> attend_and_join(const Scope<T>& scope, Var<T> q, const KeysAndValues<T>& kv, const Packing& rows,
                       const Packing& groups, const Packing& keys, bool causal, const HeadConfig& config) {
  const AttentionOptions options = options_of(scope, kv.key.cols(), causal, config);
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit(rows);
  AttentionResult<T> result =
      attention(q, kv.key, kv.value, groups, keys, options, edit ? &*edit : nullptr, kv.key_transposed);
  const AttentionKind kind{&groups, &keys, config.n_heads};
  scope.name_attention("scores", result.scores, kind);
  scope.name_attention("weights", result.weights, kind);
  return join(scope, result.context, rows, config);
}

/// Every row over its sequence's past, which begins with what the cache holds and ends with the row itself.
template <class T>
Var<T> attend_to_past(const Scope<T>& scope, Var<T> q, Var<T> k, Var<T> v, const Packing& rows,
                      const Past<T>& past, const HeadConfig& config) {
  past.cache->write(k.value(), v.value(), past.appended);
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit(rows);
  const AttentionOptions options = options_of(scope, k.cols(), true, config);
  return join(scope, attention_over_past(q, rows, past, options, edit ? &*edit : nullptr), rows, config);
}

template <class T>
void add_output(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add(scope + "/output/weight", {d, d}, Init::xavier(d, d));
  parameters.add(scope + "/output/bias", {d}, Init::zeros());
}

}  // namespace

template <class T>
void add_self_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add_stacked(scope, {"query", "key", "value"}, d, d, projection_init(d), Init::zeros());
  add_output(parameters, scope, d);
}

template <class T>
void add_cross_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d) {
  parameters.add_stacked(scope, {"query"}, d, d, projection_init(d), Init::zeros());
  parameters.add_stacked(scope, {"key", "value"}, d, d, projection_init(d), Init::zeros());
  add_output(parameters, scope, d);
}

template <class T>
Var<T> self_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, bool causal,
                      const HeadConfig& config, const Past<T>& past) {
  const std::int64_t d = x.cols();
  Tape<T>& tape = scope.tape();
  Var<T> qkv = project(scope, x, {"query", "key", "value"});  // [rows, 3 d]
  Var<T> q = scope.name("query", tape.columns(qkv, 0, d), rows, config.n_heads);
  Var<T> k = scope.name("key", tape.columns(qkv, d, d), rows, config.n_heads);
  Var<T> v = scope.name("value", tape.columns(qkv, 2 * d, d), rows, config.n_heads);
  if (past.cache) return attend_to_past(scope, q, k, v, rows, past, config);
  return attend_and_join(scope, q, {k, v, {}}, rows, rows, rows, causal, config);
}

template <class T>
KeysAndValues<T> memory_keys(const Scope<T>& scope, Var<T> memory, const Packing& rows,
                             const HeadConfig& config) {
  const std::int64_t d = memory.cols();
  Tape<T>& tape = scope.tape();
  Var<T> kv = project(scope, memory, {"key", "value"});  // [memory rows, 2 d]
  KeysAndValues<T> named{scope.name("key", tape.columns(kv, 0, d), rows, config.n_heads),
                         scope.name("value", tape.columns(kv, d, d), rows, config.n_heads),
                         {}};
  if (!tape.with_gradients()) named.key_transposed = transposed_keys(named.key, rows);
  return named;
}

template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, const Packing& groups,
                       const KeysAndValues<T>& memory, const Packing& memory_rows, const HeadConfig& config) {
  Var<T> q = scope.name("query", project(scope, x, {"query"}), rows, config.n_heads);  // [rows, d]
  return attend_and_join(scope, q, memory, rows, groups, memory_rows, false, config);
}

HEED_INSTANTIATE(add_self_attention)
HEED_INSTANTIATE(add_cross_attention)
HEED_INSTANTIATE(self_attention)
HEED_INSTANTIATE(memory_keys)
HEED_INSTANTIATE(cross_attention)

}  // namespace heed
