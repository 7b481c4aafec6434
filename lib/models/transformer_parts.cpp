#include "models/transformer_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "base/sentence_error.h"
#include "nn/simple_recurrence.h"
#include "tensor/kernels.h"

namespace heed {

void TransformerOptions::check_options(std::int64_t n_layers) const {
  if (d_head == 0 && d_model % n_heads)
    fail<UsageError>("d_model = ", d_model, " is not a multiple of n_heads = ", n_heads);
  if (n_kv_heads > 0 && n_heads % n_kv_heads)
    fail<UsageError>("n_heads = ", n_heads, " is not a multiple of n_kv_heads = ", n_kv_heads);
  check_positions(d_model, head_width());
  if (kParallelResiduals(parallel_residual) != ParallelResidual::no &&
      (!residual || kNorms(norm) == Norm::post || norms_output(kNorms(norm))))
    fail<UsageError>(
        "parallel_residual = ", parallel_residual,
        " adds up sublayers that read the same states: wanted residual = true and norm = pre or none");
  if (!qk_norm && kQkNormOver(qk_norm_over) == QkNormOver::all)
    fail<UsageError>("qk_norm_over = ", qk_norm_over, " is for queries and keys with a norm: wanted qk_norm");
  if (score_width > 0 && kScoreScales(score_scale) == ScoreScale::one)
    fail<UsageError>("score_width = ", score_width,
                     " stands for d_head in 1/sqrt_d_head, and score_scale = ", score_scale);
  if (window_layers.empty() || window_layers.find_first_not_of("wf") != std::string::npos ||
      std::cmp_greater(window_layers.size(), n_layers)) {
    fail<UsageError>("window_layers is '", escaped(window_layers),
                     "', wanted w or f for each layer, at most ", n_layers, " of them");
  }
  if (window_layers.find('w') == std::string::npos)
    fail<UsageError>("window_layers = ", window_layers, " leaves no layer the sliding window: wanted a w");
  if (sliding_window == 0 && window_layers != "w")
    fail<UsageError>("window_layers = ", window_layers,
                     " says which layers have the sliding window, and sliding_window = 0 is none");
  if (sliding_window == 0 && rope_local_base > 0)
    fail<UsageError>("rope_local_base = ", rope_local_base,
                     " is for layers with the sliding window, and sliding_window = 0 is none");
  if (embedding_dropout < 0 && embedding_dropout != -1)
    fail<UsageError>("embedding_dropout is ", embedding_dropout, ", wanted -1, or ", to_string(share()));
}

namespace {

StackSettings settings_of(const TransformerOptions& o) {
  StackSettings s;
  s.d_model = o.d_model;
  s.d_ff = o.d_ff;
  s.max_length = o.max_length;
  s.heads.n_heads = o.n_heads;
  s.heads.dropout = o.attention_dropout;
  s.heads.n_kv_heads = o.n_kv_heads;
  s.heads.d_head = o.d_head;
  s.norms = {kNormKinds(o.norm_kind), o.norm_epsilon};
  if (o.qk_norm) {
    s.heads.qk_norm = s.norms;
    if (s.norms.centres()) s.heads.qk_norm->kind = NormKind::rms;
    s.heads.qk_norm_by_head = kQkNormOver(o.qk_norm_over) == QkNormOver::head;
  }
  s.heads.scaled = kScoreScales(o.score_scale) == ScoreScale::by_sqrt_d_head;
  s.heads.score_width = o.score_width;
  s.heads.bias = kAttentionBiases(o.attention_bias);
  s.heads.window = o.sliding_window;
  s.window_layers = o.window_layers;
  s.feed_forward = {kActivations(o.activation), o.gated, o.feed_forward_bias, o.activation_dropout};
  s.norm = kNorms(o.norm);
  const FinalNorm final_norm = kFinalNorms(o.final_norm);
  s.final_norm = final_norm == FinalNorm::yes ||
                 (final_norm == FinalNorm::by_norm && (norms_input(s.norm) || norms_output(s.norm)));
  s.embedding_norm = o.embedding_norm;
  s.embedding_scale = kEmbeddingScales(o.embedding_scale) == EmbeddingScale::one
                          ? 1
                          : std::sqrt(static_cast<double>(o.d_model));
  s.parallel = kParallelResiduals(o.parallel_residual);
  s.residual = o.residual;
  s.dropout = o.dropout;
  s.embedding_dropout = o.embedding_dropout < 0 ? o.dropout : o.embedding_dropout;
  s.positions = {o, o.d_model, o.n_heads, s.heads.head_width(o.d_model), o.max_length};
  return s;
}

PartSizes sizes_of(const StackSettings& s) {
  const std::int64_t d_head = s.heads.head_width(s.d_model);
  return {s.vocab_size,    s.n_layers,       s.d_model,    s.d_model,          s.max_length,
          s.heads.n_heads, {d_head, d_head}, !s.recurrent, s.heads.n_kv_heads, true};
}

/// A sublayer, the norm beside it, and that of its output.
struct Sublayer {
  std::string_view name, norm, post_norm;
  bool begins_with_norm = true;  ///< if norms_input
};
constexpr Sublayer kRecurrence{"recurrence", "recurrence_norm", "recurrence_post_norm"},
    kSelfAttention{"self_attention", "self_attention_norm", "self_attention_post_norm"},
    kCrossAttention{"cross_attention", "cross_attention_norm", "cross_attention_post_norm"},
    kFeedForward{"feed_forward", "feed_forward_norm", "feed_forward_post_norm"};

/// The input of a layer, which its sublayers read in parallel: as it is, and normalised if they share a norm.
template <class T>
struct ParallelInput {
  Var<T> states, normed;
};

/// A sublayer with its residual connection and layer normalisation (section 3.1; dropout on the sublayer's
/// output, section 5.4):
///   post-norm    LayerNorm(x + Dropout(sublayer(x)))
///   pre-norm     x + Dropout(sublayer(LayerNorm(x)))
///   sandwich     x + Dropout(LayerNorm(sublayer(LayerNorm(x))))
///   output       x + Dropout(LayerNorm(sublayer(x)))
///   norm = none  x + Dropout(sublayer(x))
/// each without its x + when there is no residual. In parallel, the sublayer reads what `parallel` says in place
/// of x. `compute` maps a Var [rows, d] to a Var [rows, d] under the scope layer/<name>.
template <class T, class Compute>
Var<T> residual(const Scope<T>& layer, const Sublayer& sublayer, Var<T> x, const Packing& rows,
                const StackSettings& settings, ParallelInput<T>& parallel, Compute&& compute) {
  const Scope<T> norm = layer / sublayer.norm;
  auto drop = [&] { return norm.dropout(settings.dropout); };  // drawn after the sublayer's own
  auto sum = [&](Var<T> output) {
    return settings.residual ? add_dropped(x, output, drop()) : drop_out(output, drop());
  };
  if (settings.norm == Norm::post) {
    Var<T> output = compute(layer / sublayer.name, x);
    if (settings.residual && !norm.edits("sum")) {
      SumAndNorm<T> result = add_and_normalise(norm, x, output, drop(), settings.norms);
      norm.name("sum", result.sum, rows);
      return norm.name("output", result.output, rows);
    }
    Var<T> added = norm.name("sum", sum(output), rows);
    return norm.name("output", normalise(norm, added, settings.norms), rows);
  }
  if (!parallel.states || settings.parallel == ParallelResidual::no) parallel = {x, {}};
  Var<T> input = norms_input(settings.norm) && sublayer.begins_with_norm ? parallel.normed : parallel.states;
  if (!input) input = norm.name("output", normalise(norm, parallel.states, settings.norms), rows);
  if (settings.parallel == ParallelResidual::one_norm) parallel.normed = input;
  Var<T> output = compute(layer / sublayer.name, input);
  if (norms_output(settings.norm)) {
    const Scope<T> post = layer / sublayer.post_norm;
    output = post.name("output", normalise(post, output, settings.norms), rows);
  }
  return norm.name("sum", sum(output), rows);
}

/// The input of a layer's attentions besides the states.
template <class T>
struct LayerInput {
  LayerPositions<T> positions;
  Past<T> past;                     ///< the state's, of a decoder that keeps it
  const Packing* groups = nullptr;  ///< of cross-attention; null: none
  const Packing* memory_rows = nullptr;
  KeysAndValues<T> memory;
  Var<T>* cell =
      nullptr;  ///< state of the recurrence that replaces self-attention, carried from step to step
};

/// Section 3.1: self-attention (or a recurrence), in a decoder attention over the encoder's output, and the
/// feed-forward network. [rows, d] -> [rows, d].
template <class T>
Var<T> transformer_layer(const Scope<T>& stack, std::int64_t index, Var<T> x, const Packing& rows,
                         const StackSettings& settings, const LayerInput<T>& input) {
  const Scope<T> layer = layer_scope(stack, index);
  const bool is_local = settings.has_window(index);
  HeadConfig heads = settings.heads;
  if (!is_local) heads.window = 0;
  ParallelInput<T> parallel;
  const auto add = [&](const Sublayer& sublayer, const auto& compute) {
    x = residual(layer, sublayer, x, rows, settings, parallel, compute);
  };
  Sublayer first = settings.recurrent ? kRecurrence : kSelfAttention;
  first.begins_with_norm = index > 0 || settings.first_norm;
  add(first, [&](const Scope<T>& scope, Var<T> y) {
    if (settings.recurrent) return simple_recurrence(scope, y, rows, *input.cell);
    return self_attention(scope, y, rows, settings.causal, heads,
                          is_local ? input.positions.local : input.positions.global, input.past);
  });
  if (input.groups) {
    add(kCrossAttention, [&](const Scope<T>& scope, Var<T> y) {
      return cross_attention(scope, y, rows, *input.groups, input.memory, *input.memory_rows, heads);
    });
  }
  add(kFeedForward,
      [&](const Scope<T>& scope, Var<T> y) { return feed_forward(scope, y, rows, settings.feed_forward); });
  return layer.name("output", x, rows);
}

DecoderSizes decoder_sizes(const StackSettings& s) {
  DecoderSizes sizes;
  static_cast<PartSizes&>(sizes) = sizes_of(s);
  sizes.reads_memory = s.reads_memory;
  sizes.first_attending_layer = s.reads_memory ? 0 : s.n_layers;
  sizes.rows_apart = true;
  return sizes;
}

}  // namespace

StackSettings StackSettings::encoder(const TransformerOptions& options, std::int64_t n_layers,
                                     std::int64_t vocab_size, const std::string& embedding_table) {
  StackSettings s = settings_of(options);
  s.name = "encoder";
  s.n_layers = n_layers;
  s.vocab_size = vocab_size;
  s.embedding_table = embedding_table;
  return s;
}

StackSettings StackSettings::decoder(const TransformerOptions& options, std::int64_t n_layers,
                                     std::int64_t vocab_size, const std::string& embedding_table,
                                     bool reads_memory) {
  StackSettings s = encoder(options, n_layers, vocab_size, embedding_table);
  s.name = "decoder";
  s.causal = s.positions.causal = true;
  s.reads_memory = reads_memory;
  return s;
}

template <class T>
void declare_table(ParameterSet<T>& parameters, const std::string& path, std::int64_t rows, std::int64_t d) {
  parameters.add(path, {rows, d}, Init::normal(1 / std::sqrt(static_cast<double>(d))));
}

template <class T>
WordsHead declare_words(ParameterSet<T>& parameters, Tied tied, const std::string& table,
                        const TransformerOptions& options, std::int64_t words, const std::string& scope) {
  WordsHead head{table, true, "", options.logit_scale};
  if (tied == Tied::none) {
    const std::int64_t d = options.d_model;
    head.weight = scope + "/weight";
    head.tied = false;
    parameters.add(head.weight, {d, words}, Init::normal(1 / std::sqrt(static_cast<double>(d))));
  }
  if (options.output_bias) {
    head.bias = scope + "/bias";
    parameters.add(head.bias, {words}, Init::zeros());
  }
  return head;
}

template <class T>
void declare_stack(ParameterSet<T>& parameters, const StackSettings& s) {
  auto norm = [&](const std::string& scope) { add_norm(parameters, scope, s.d_model, s.norms.kind); };
  add_positions(parameters, s.name, s.positions);
  const std::int64_t width = s.embedding_width > 0 ? s.embedding_width : s.d_model;
  if (s.n_token_types > 0) declare_table(parameters, s.name + "/token_types/weight", s.n_token_types, width);
  if (s.embedding_norm) add_norm(parameters, s.name + "/embedding_norm", width, s.norms.kind);
  if (s.embedding_width > 0) {
    const std::string projection = s.name + "/embedding_projection/";
    parameters.add(projection + "weight", {width, s.d_model}, Init::xavier(width, s.d_model));
    parameters.add(projection + "bias", {s.d_model}, Init::zeros());
  }
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const auto in_layer = [&](std::string_view name) { return concat(s.name, "/layer_", i, "/", name); };
    const auto norms = [&](const Sublayer& sublayer, bool is_first = false) {
      const bool begins_bare = is_first && i == 0 && !s.first_norm;
      if ((s.norm == Norm::post || norms_input(s.norm)) && !begins_bare &&
          (is_first || s.parallel != ParallelResidual::one_norm))
        norm(in_layer(sublayer.norm));
      if (norms_output(s.norm)) norm(in_layer(sublayer.post_norm));
    };
    if (s.recurrent)
      add_simple_recurrence(parameters, in_layer(kRecurrence.name), s.d_model);
    else
      add_self_attention(parameters, in_layer(kSelfAttention.name), s.d_model, s.heads);
    norms(s.recurrent ? kRecurrence : kSelfAttention, true);
    if (s.reads_memory) {
      add_cross_attention(parameters, in_layer(kCrossAttention.name), s.d_model, s.heads);
      norms(kCrossAttention);
    }
    add_feed_forward(parameters, in_layer(kFeedForward.name), s.d_model, s.d_ff, s.feed_forward);
    norms(kFeedForward);
  }
  if (s.final_norm) norm(s.name + "/final_norm");
}

template <class T>
TransformerStack<T>::TransformerStack(const StackSettings& settings)
    : settings_(settings), positions_(settings.positions) {}

namespace {

/// Memory that the layers of a stack use one after the other, as long as nothing but the states that leave them is
/// needed: neither gradients, nor values that are recorded. Edits need no memory of their own: they act on a value when
/// it is computed.
template <class T>
class SharedMemory {
 public:
  explicit SharedMemory(const Pass<T>& pass)
      : tape_(*pass.tape), mark_(tape_.mark()), shared_(!tape_.with_gradients() && !pass.recorder) {}

  /// The states, moved to the beginning.
  Var<T> keep_only(Var<T> states) const { return shared_ ? tape_.keep_only(states, mark_) : states; }

 private:
  Tape<T>& tape_;
  typename Tape<T>::Mark mark_;
  bool shared_;
};

/// The types of all tokens. Throws SentenceError on an unknown type.
std::vector<std::int32_t> types_of(const PackedTokens& tokens, std::int64_t n_types) {
  if (tokens.types.empty()) return std::vector<std::int32_t>(tokens.ids.size());
  for (std::int64_t s = 0; s < tokens.rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < tokens.rows.length(s); ++i) {
      const std::int32_t type = tokens.types[static_cast<std::size_t>(tokens.rows.offset(s) + i)];
      if (type < 0 || type >= n_types)
        throw SentenceError(s, concat("token ", i, " is of type ", type, ", and the model knows ", n_types,
                                      " types of tokens, counted from 0"));
    }
  }
  return tokens.types;
}

}  // namespace

template <class T>
Var<T> TransformerStack<T>::embed(Pass<T>& pass, const PackedTokens& tokens,
                                  std::span<const std::int64_t> first) const {
  const StackSettings& s = settings_;
  for (std::int64_t i = 0; i < tokens.rows.sentences(); ++i) {
    const std::int64_t begin = first.empty() ? 0 : first[static_cast<std::size_t>(i)];
    if (begin + tokens.rows.length(i) > s.max_length) {
      // What is read beside a memory is the text of decode --force.
      const std::string remedy =
          s.reads_memory ? "" : concat("; tokenize --max-length ", s.max_length, " --truncate cuts it");
      throw SentenceError(i,
                          concat("a sentence of ", begin + tokens.rows.length(i),
                                 " tokens is longer than the model's max_length = ", s.max_length, remedy));
    }
  }
  std::vector<std::int32_t> ids = tokens.ids;
  for (std::int64_t i = 0; s.zero_start && i < tokens.rows.sentences(); ++i)
    if (tokens.rows.length(i) > 0 && (first.empty() || first[static_cast<std::size_t>(i)] == 0))
      ids[static_cast<std::size_t>(tokens.rows.offset(i))] = kNoRow;
  const Scope<T> root(pass), stack = root / s.name;
  const AddedPositions<T> positions = positions_.added(stack, tokens.rows, first);
  Arena& arena = pass.tape->arena();
  const Dropout drop = stack.dropout(s.embedding_dropout);
  Var<T> x =
      embedding(root.parameter(s.embedding_table), arena.keep<std::int32_t>(ids),
                static_cast<T>(s.embedding_scale), positions.table, arena.keep<std::int32_t>(positions.at),
                s.embedding_norm || s.n_token_types > 0 ? Dropout{} : drop);
  if (s.n_token_types > 0) {  // where there are none, as in DistilBERT, those of a pair are not read
    const Var<T> type =
        embedding(stack.parameter("token_types/weight"),
                  arena.keep<std::int32_t>(types_of(tokens, s.n_token_types)), T{1}, Var<T>(), {});
    x = add_dropped(x, type, Dropout{});
    if (!s.embedding_norm) x = drop_out(x, drop);
  }
  if (s.embedding_norm) x = drop_out(normalise(stack / "embedding_norm", x, s.norms), drop);
  if (s.embedding_width > 0) {
    const Scope<T> projection = stack / "embedding_projection";
    x = linear(x, projection.parameter("weight"), projection.parameter("bias"));
  }
  return stack.name("embedded", x, tokens.rows);
}

template <class T>
Var<T> TransformerStack<T>::finish(Pass<T>& pass, Var<T> x, const Packing& rows) const {
  const Scope<T> stack = Scope<T>(pass) / settings_.name;
  if (settings_.final_norm) x = normalise(stack / "final_norm", x, settings_.norms);
  return stack.name("output", x, rows);
}

template <class T>
TransformerEncoder<T>::TransformerEncoder(const StackSettings& settings)
    : Encoder<T>({sizes_of(settings), {}}), stack_(settings) {}

template <class T>
Var<T> TransformerEncoder<T>::embed(Pass<T>& pass, const PackedTokens& tokens) const {
  return stack_.embed(pass, tokens, {});
}

template <class T>
Encoded<T> TransformerEncoder<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                                         std::int64_t last) const {
  const StackSettings& s = stack_.settings();
  this->expect_layers(first, last);
  const Scope<T> encoder = Scope<T>(pass) / s.name;
  LayerInput<T> layer;
  layer.positions = stack_.positions().within_attention(encoder, input.rows->longest());
  Var<T> x = input.states;
  const SharedMemory<T> memory(pass);
  for (std::int64_t i = first; i < last; ++i)
    x = memory.keep_only(transformer_layer(encoder, i, x, *input.rows, s, layer));
  if (last == s.n_layers) x = stack_.finish(pass, x, *input.rows);
  return {x, input.rows, {}};
}

template <class T>
TransformerDecoder<T>::TransformerDecoder(const StackSettings& settings)
    : Decoder<T>(decoder_sizes(settings)), stack_(settings) {}

template <class T>
Var<T> TransformerDecoder<T>::embed(Pass<T>& pass, const PackedTokens& tokens, const Continuation& at) const {
  const Reading<T> reading(pass, at);
  return stack_.embed(pass, tokens, at.lengths);
}

/// Of each layer the state's memory has keys, values, and both parts of KeysAhead, of which one is there.
constexpr std::size_t kKeptOfLayer = 4;

/// The state's rows: cells of recurrent layers.
template <class T>
DecoderState<T> TransformerDecoder<T>::start(Pass<T>& pass, std::int64_t sentences,
                                             const Encoded<T>* memory) const {
  const StackSettings& s = stack_.settings();
  DecoderState<T> state(sentences);
  state.caches.resize(static_cast<std::size_t>(s.n_layers));
  if (s.recurrent) {
    const Matrix<T> zeros = pass.tape->arena().template matrix<T>(sentences, s.d_model);
    std::fill_n(zeros.data, zeros.size(), T{0});
    state.rows.assign(static_cast<std::size_t>(s.n_layers), pass.tape->constant(zeros));
  }
  if (!s.reads_memory) return state;
  if (!memory) fail("the decoder reads an encoder's output, and there is none");
  state.memory_rows = memory->rows;
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const Scope<T> scope = layer_scope(Scope<T>(pass) / s.name, i) / "cross_attention";
    const KeysAndValues<T> kept = memory_keys(scope, memory->states, *memory->rows, s.heads);
    state.memory.insert(state.memory.end(), {kept.key, kept.value, kept.ahead.transposed, kept.ahead.pairs});
  }
  return state;
}

template <class T>
Decoded<T> TransformerDecoder<T>::read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                                       const Packing& rows) const {
  const StackSettings& s = stack_.settings();
  const Reading<T> reading(pass, state, rows);
  const Scope<T> decoder = Scope<T>(pass) / s.name;
  if (state.keeps_past) state.append_to_past(rows);
  LayerInput<T> input;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < rows.sentences(); ++i)
    longest = std::max(longest, state.lengths()[static_cast<std::size_t>(i)] + rows.length(i));
  input.positions = stack_.positions().within_attention(decoder, longest);
  if (s.reads_memory) input.groups = &pass.tape->own(state.groups(rows));
  Var<T> x = embedded;
  const SharedMemory<T> memory(pass);
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    if (s.recurrent) input.cell = &state.rows[layer];
    if (state.keeps_past) input.past = {&state.caches[layer], &state.past, state.appended()};
    if (s.reads_memory) {
      input.memory_rows = state.memory_rows;
      const Var<T>* kept = &state.memory[kKeptOfLayer * layer];
      input.memory = {kept[0], kept[1], {kept[2], kept[3]}};
    }
    x = transformer_layer(decoder, i, x, rows, s, input);
    if (!s.recurrent) x = memory.keep_only(x);  // otherwise the cell's new state is needed as well
  }
  return {finish(pass, x, rows), {}};
}

template <class T>
Var<T> TransformerDecoder<T>::finish(Pass<T>& pass, Var<T> output, const Packing& rows) const {
  return stack_.finish(pass, output, rows);
}

HEED_INSTANTIATE(declare_stack)
HEED_INSTANTIATE(declare_table)
HEED_INSTANTIATE(declare_words)
HEED_INSTANTIATE_CLASS(TransformerEncoder)
HEED_INSTANTIATE_CLASS(TransformerDecoder)

}  // namespace heed
