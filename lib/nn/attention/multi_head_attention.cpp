#include "nn/attention/multi_head_attention.h"

#include <cmath>

#include "autograd/ops.h"
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
Var<T> attend_and_join(const Scope<T>& scope, Var<T> q, Var<T> k, Var<T> v, const Packing& queries,
                       const Packing& keys, bool causal, const HeadConfig& config) {
  q = scope.name("query", q, queries, config.n_heads);
  k = scope.name("key", k, keys, config.n_heads);
  v = scope.name("value", v, keys, config.n_heads);
  AttentionOptions options;
  options.n_heads = config.n_heads;
  options.scale = scaled_dot_factor(k.cols() / config.n_heads);
  options.causal = causal;
  options.drop = scope.dropout(config.dropout);
  options.keep_scores = scope.wants("scores");
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit();
  AttentionResult<T> result = attention(q, k, v, queries, keys, options, edit ? &*edit : nullptr);
  const AttentionKind kind{&queries, &keys, config.n_heads};
  scope.name_attention("scores", result.scores, kind);
  scope.name_attention("weights", result.weights, kind);
  Var<T> context = scope.name("context", result.context, queries, config.n_heads);
  Scope<T> out = scope / "output";
  return scope.name("output", linear(context, out.parameter("weight"), out.parameter("bias")), queries);
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
                      const HeadConfig& config) {
  const std::int64_t d = x.cols();
  Tape<T>& tape = scope.tape();
  Var<T> qkv = project(scope, x, {"query", "key", "value"});  // [rows, 3 d]
  return attend_and_join(scope, tape.columns(qkv, 0, d), tape.columns(qkv, d, d), tape.columns(qkv, 2 * d, d),
                         rows, rows, causal, config);
}

template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, Var<T> memory,
                       const Packing& memory_rows, const HeadConfig& config) {
  const std::int64_t d = x.cols();
  Tape<T>& tape = scope.tape();
  Var<T> q = project(scope, x, {"query"});               // [target rows, d]
  Var<T> kv = project(scope, memory, {"key", "value"});  // [source rows, 2 d]
  return attend_and_join(scope, q, tape.columns(kv, 0, d), tape.columns(kv, d, d), rows, memory_rows, false,
                         config);
}

#define HEED_INSTANTIATE(T)                                                                         \
  template void add_self_attention(ParameterSet<T>&, const std::string&, std::int64_t);             \
  template void add_cross_attention(ParameterSet<T>&, const std::string&, std::int64_t);            \
  template Var<T> self_attention(const Scope<T>&, Var<T>, const Packing&, bool, const HeadConfig&); \
  template Var<T> cross_attention(const Scope<T>&, Var<T>, const Packing&, Var<T>, const Packing&,  \
                                  const HeadConfig&);
HEED_INSTANTIATE(float)
HEED_INSTANTIATE(double)
#undef HEED_INSTANTIATE

}  // namespace heed
