#include "nn/attention/multi_head_attention.h"

#include <cmath>

#include "autograd/ops.h"
#include "base/instantiate.h"
#include "nn/attention/score_function.h"
#include "tensor/packed_weights.h"

namespace heed {

namespace {

/// Projections of one input, which lie side by side.
const std::vector<std::string> kSelf{"query", "key", "value"}, kQuery{"query"}, kMemory{"key", "value"};

/// Columns of the projections.
struct Widths {
  std::int64_t d_head, query, key;

  Widths(const HeadConfig& config, std::int64_t d_model)
      : d_head(config.head_width(d_model)),
        query(config.n_heads * d_head),
        key(config.key_heads() * d_head) {}
};

template <class T>
Var<T> project(const Scope<T>& scope, Var<T> x, const std::vector<std::string>& parts,
               const HeadConfig& config) {
  const bool biased = config.biased_inputs();
  return linear(x, scope.stacked(parts, "weight"), biased ? scope.stacked(parts, "bias") : Var<T>());
}

template <class T>
AttentionOptions options_of(const Scope<T>& scope, std::int64_t d_head, bool causal,
                            const HeadConfig& config) {
  AttentionOptions options;
  options.n_heads = config.n_heads;
  options.n_kv_heads = config.n_kv_heads;
  options.scale = config.scaled ? scaled_dot_factor(config.score_width > 0 ? config.score_width : d_head) : 1;
  options.causal = causal;
  options.window = config.window;
  options.drop = scope.dropout(config.dropout);
  options.keep_weights = scope.wants("weights");
  options.keep_scores = scope.wants("scores");
  options.keep_bias = scope.wants("position_bias");
  return options;
}

/// From projected queries or keys to those that are compared: [rows, heads * d_head]. `turns`: no data unless
/// positions rotate them.
template <class T>
Var<T> compared(const Scope<T>& scope, const std::string& part, Var<T> x, const Packing& rows,
                std::int64_t heads, const HeadConfig& config, Matrix<const T> turns = {}) {
  x = scope.name(part, x, rows, heads);
  if (config.qk_norm) {
    x = normalise(scope / (part + "_norm"), x, *config.qk_norm);
    x = scope.name("normed_" + part, x, rows, heads);
  }
  if (!turns.data) return x;
  const Continuation* at = scope.pass().continuation;
  const std::vector<std::int32_t> position =
      positions_of(rows, at ? at->lengths : std::span<const std::int64_t>());
  x = rotate(x, turns, scope.tape().arena().template keep<std::int32_t>(position), x.cols() / heads);
  return scope.name("rotated_" + part, x, rows, heads);
}

/// The context W_o + b_o.
template <class T>
Var<T> join(const Scope<T>& scope, Var<T> context, const Packing& rows, const HeadConfig& config) {
  context = scope.name("context", context, rows, config.n_heads);
  Scope<T> out = scope / "output";
  const Var<T> bias = config.biased_output() ? out.parameter("bias") : Var<T>();
  return scope.name("output", linear(context, out.parameter("weight"), bias), rows);
}

/// `rows`: the packing of the queries; `groups` the same rows, a group for each sentence of the keys.
template <class T>
Var<T> attend_and_join(const Scope<T>& scope, Var<T> q, const KeysAndValues<T>& kv, const Packing& rows,
                       const Packing& groups, const Packing& keys, bool causal, const HeadConfig& config,
                       Var<T> bias = {}) {
  const AttentionOptions options = options_of(scope, q.cols() / config.n_heads, causal, config);
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit(rows);
  AttentionResult<T> result =
      attention(q, kv.key, kv.value, groups, keys, options, edit ? &*edit : nullptr, bias, kv.ahead);
  const AttentionKind kind{&groups, &keys, config.n_heads};
  if (bias) scope.name_attention("position_bias", result.bias, kind);
  scope.name_attention("scores", result.scores, kind);
  scope.name_attention("weights", result.weights, kind);
  return join(scope, result.context, rows, config);
}

/// Every row attends over its sequence's past, which begins with the cached rows and ends with the row
/// itself.
template <class T>
Var<T> attend_to_past(const Scope<T>& scope, Var<T> q, Var<T> k, Var<T> v, const Packing& rows,
                      const Past<T>& past, const HeadConfig& config, Var<T> bias) {
  past.cache->write(k.value(), v.value(), past.appended);
  const std::optional<AttentionEdit<T>> edit = scope.attention_edit(rows);
  const AttentionOptions options = options_of(scope, q.cols() / config.n_heads, true, config);
  return join(scope, attention_over_past(q, rows, past, options, edit ? &*edit : nullptr, bias), rows,
              config);
}

/// Projections of one input, and further parameters of query and key.
template <class T>
void add_projections(ParameterSet<T>& parameters, const std::string& scope,
                     const std::vector<std::string>& parts, std::int64_t d, const HeadConfig& config) {
  const Widths width(config, d);
  // fairseq's choice, with which the published Multi30k figures were reached: query, key and value start
  // smaller. Scores that nothing divides by sqrt(d_head) start that much smaller, by their queries, as in T5.
  const double small = 1 / std::sqrt(2.0);
  const double undivided = config.scaled ? 1 : scaled_dot_factor(width.d_head);
  std::vector<StackedPart> stacked;
  for (const std::string& part : parts) {
    const std::int64_t d_out = part == "query" ? width.query : width.key;
    stacked.push_back({part, d_out, Init::xavier(d, d_out, part == "query" ? small * undivided : small)});
  }
  const bool biased = config.biased_inputs();
  parameters.add_stacked(scope, stacked, d, biased ? std::optional(Init::zeros()) : std::nullopt);
  for (const std::string& part : parts) {
    if (!config.qk_norm || part == "value") continue;
    const std::int64_t of_all = part == "query" ? width.query : width.key;
    add_norm(parameters, concat(scope, "/", part, "_norm"), config.qk_norm_by_head ? width.d_head : of_all,
             config.qk_norm->kind);
  }
}

template <class T>
void add_output(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                const HeadConfig& config) {
  const std::int64_t inner = Widths(config, d).query;
  parameters.add(scope + "/output/weight", {inner, d}, Init::xavier(inner, d));
  if (config.biased_output()) parameters.add(scope + "/output/bias", {d}, Init::zeros());
}

}  // namespace

template <class T>
void add_self_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                        const HeadConfig& config) {
  add_projections(parameters, scope, kSelf, d, config);
  add_output(parameters, scope, d, config);
}

template <class T>
void add_cross_attention(ParameterSet<T>& parameters, const std::string& scope, std::int64_t d,
                         const HeadConfig& config) {
  add_projections(parameters, scope, kQuery, d, config);
  add_projections(parameters, scope, kMemory, d, config);
  add_output(parameters, scope, d, config);
}

template <class T>
Var<T> self_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, bool causal,
                      const HeadConfig& config, const AttentionPositions<T>& positions, const Past<T>& past) {
  const Widths width(config, x.cols());
  Tape<T>& tape = scope.tape();
  Var<T> qkv = project(scope, x, kSelf, config);  // [rows, query + 2 key columns]
  Var<T> q = compared(scope, "query", tape.columns(qkv, 0, width.query), rows, config.n_heads, config,
                      positions.turns);
  Var<T> k = compared(scope, "key", tape.columns(qkv, width.query, width.key), rows, config.key_heads(),
                      config, positions.turns);
  Var<T> v =
      scope.name("value", tape.columns(qkv, width.query + width.key, width.key), rows, config.key_heads());
  if (past.cache) return attend_to_past(scope, q, k, v, rows, past, config, positions.bias);
  return attend_and_join(scope, q, {k, v, {}}, rows, rows, rows, causal, config, positions.bias);
}

template <class T>
KeysAndValues<T> memory_keys(const Scope<T>& scope, Var<T> memory, const Packing& rows,
                             const HeadConfig& config) {
  const std::int64_t width = Widths(config, memory.cols()).key;
  Tape<T>& tape = scope.tape();
  const Var<T> kv = project(scope, memory, kMemory, config);  // [memory rows, 2 width]
  const PackedWeights<T>* weights = tape.packed_weights();
  const bool rounds = weights && weights->precision() != Precision::float32 && !tape.with_gradients() &&
                      !config.qk_norm && config.head_width(memory.cols()) % 2 == 0;
  if constexpr (std::is_same_v<T, float>)
    if (rounds) round_to_bfloat16(kv);
  KeysAndValues<T> named{compared(scope, "key", tape.columns(kv, 0, width), rows, config.key_heads(), config),
                         scope.name("value", tape.columns(kv, width, width), rows, config.key_heads()),
                         {}};
  if (tape.with_gradients()) return named;
  if constexpr (std::is_same_v<T, float>) {
    if (rounds && !scope.pass().editor) {  // which may have changed them
      named.ahead = keys_ahead_in_pairs(named.key, named.value, rows);
      return named;
    }
  }
  named.ahead = keys_ahead(named.key, rows);
  return named;
}

template <class T>
Var<T> cross_attention(const Scope<T>& scope, Var<T> x, const Packing& rows, const Packing& groups,
                       const KeysAndValues<T>& memory, const Packing& memory_rows, const HeadConfig& config) {
  Var<T> q = compared(scope, "query", project(scope, x, kQuery, config), rows, config.n_heads, config);
  HeadConfig everywhere = config;
  everywhere.window = 0;
  return attend_and_join(scope, q, memory, rows, groups, memory_rows, false, everywhere);
}

HEED_INSTANTIATE(add_self_attention)
HEED_INSTANTIATE(add_cross_attention)
HEED_INSTANTIATE(self_attention)
HEED_INSTANTIATE(memory_keys)
HEED_INSTANTIATE(cross_attention)

}  // namespace heed
