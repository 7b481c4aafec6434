#include "models/transformer_parts.h"

#include <cmath>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "base/sentence_error.h"
#include "nn/feed_forward.h"

namespace heed {

void TransformerOptions::check_options() const {
  if (d_model % n_heads) fail<UsageError>("d_model = ", d_model, " is not a multiple of n_heads = ", n_heads);
  if (embedding_dropout < 0 && embedding_dropout != -1)
    fail<UsageError>("embedding_dropout is ", embedding_dropout, ", wanted -1, or ", to_string(share()));
}

namespace {

StackSettings settings_of(const TransformerOptions& o) {
  StackSettings s;
  s.d_model = o.d_model;
  s.d_ff = o.d_ff;
  s.max_length = o.max_length;
  s.heads = {o.n_heads, o.attention_dropout, kPositions(o.positions)};
  s.norm = kNorms(o.norm);
  s.residual = o.residual;
  s.dropout = o.dropout;
  s.embedding_dropout = o.embedding_dropout < 0 ? o.dropout : o.embedding_dropout;
  s.activation_dropout = o.activation_dropout;
  s.norm_epsilon = o.norm_epsilon;
  return s;
}

PartSizes sizes_of(const StackSettings& s) {
  const std::int64_t head_dim = s.d_model / s.heads.n_heads;
  return {s.vocab_size,    s.n_layers,           s.d_model, s.d_model, s.max_length,
          s.heads.n_heads, {head_dim, head_dim}, true};
}

/// A sublayer with its residual connection and layer normalisation (section 3.1; dropout on the sublayer's
/// output, section 5.4):
///   post-norm    LayerNorm(x + Dropout(sublayer(x)))
///   pre-norm     x + Dropout(sublayer(LayerNorm(x)))
///   norm = none  x + Dropout(sublayer(x))
/// each without its x + when there is no residual. `sublayer` maps a Var [rows, d] to a Var [rows, d] under
/// the scope layer/<name>.
template <class T, class Sublayer>
Var<T> residual(const Scope<T>& layer, const std::string& name, Var<T> x, const Packing& rows,
                const StackSettings& settings, Sublayer&& sublayer) {
  Scope<T> norm = layer / (name + "_norm");
  const T eps = static_cast<T>(settings.norm_epsilon);
  auto normed = [&](Var<T> sum, Var<T> sub, const Dropout& drop) {
    return add_layer_norm(sum, sub, drop, norm.parameter("gamma"), norm.parameter("beta"), eps);
  };
  auto drop = [&] { return norm.dropout(settings.dropout); };  // drawn after the sublayer's own
  auto sum = [&](Var<T> output) {
    return settings.residual ? add_dropped(x, output, drop()) : drop_out(output, drop());
  };
  if (settings.norm == Norm::post) {
    Var<T> output = sublayer(layer / name, x);
    if (settings.residual && !norm.edits("sum")) {
      SumAndNorm<T> result = normed(x, output, drop());
      norm.name("sum", result.sum, rows);
      return norm.name("output", result.output, rows);
    }
    Var<T> added = norm.name("sum", sum(output), rows);
    return norm.name("output", normed(added, Var<T>(), Dropout{}).output, rows);
  }
  Var<T> input =
      settings.norm == Norm::pre ? norm.name("output", normed(x, Var<T>(), Dropout{}).output, rows) : x;
  Var<T> output = sublayer(layer / name, input);
  return norm.name("sum", sum(output), rows);
}

/// What a layer's attentions need besides its input.
template <class T>
struct LayerInput {
  Past<T> past;                     ///< the state's, of a decoder that keeps it
  const Packing* groups = nullptr;  ///< of cross-attention; null: none
  const Packing* memory_rows = nullptr;
  KeysAndValues<T> memory;
};

/// Section 3.1: self-attention, of a decoder attention over the encoder's output, the feed-forward network.
/// [rows, d] -> [rows, d].
template <class T>
Var<T> transformer_layer(const Scope<T>& layer, Var<T> x, const Packing& rows, const StackSettings& settings,
                         const LayerInput<T>& input = {}) {
  x = residual(layer, "self_attention", x, rows, settings, [&](const Scope<T>& scope, Var<T> y) {
    return self_attention(scope, y, rows, settings.causal, settings.heads, input.past);
  });
  if (input.groups) {
    x = residual(layer, "cross_attention", x, rows, settings, [&](const Scope<T>& scope, Var<T> y) {
      return cross_attention(scope, y, rows, *input.groups, input.memory, *input.memory_rows, settings.heads);
    });
  }
  x = residual(layer, "feed_forward", x, rows, settings, [&](const Scope<T>& scope, Var<T> y) {
    return feed_forward(scope, y, rows, settings.activation_dropout);
  });
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
  s.causal = true;
  s.reads_memory = reads_memory;
  return s;
}

template <class T>
void declare_table(ParameterSet<T>& parameters, const std::string& path, std::int64_t rows, std::int64_t d) {
  parameters.add(path, {rows, d}, Init::normal(1 / std::sqrt(static_cast<double>(d))));
}

template <class T>
WordsHead declare_words(ParameterSet<T>& parameters, Tied tied, const std::string& table, std::int64_t d,
                        std::int64_t words) {
  if (tied != Tied::none) return {table, true};
  parameters.add("decoder/output/weight", {d, words}, Init::normal(1 / std::sqrt(static_cast<double>(d))));
  return {"decoder/output/weight", false};
}

template <class T>
void declare_stack(ParameterSet<T>& parameters, const StackSettings& s) {
  auto norm = [&](const std::string& scope) {
    if (s.norm == Norm::none) return;
    parameters.add(scope + "/gamma", {s.d_model}, Init::ones());
    parameters.add(scope + "/beta", {s.d_model}, Init::zeros());
  };
  if (s.heads.positions == Positions::learned)
    declare_table(parameters, s.name + "/positions/weight", s.max_length, s.d_model);
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const std::string layer = s.name + "/layer_" + std::to_string(i);
    add_self_attention(parameters, layer + "/self_attention", s.d_model);
    norm(layer + "/self_attention_norm");
    if (s.reads_memory) {
      add_cross_attention(parameters, layer + "/cross_attention", s.d_model);
      norm(layer + "/cross_attention_norm");
    }
    add_feed_forward(parameters, layer + "/feed_forward", s.d_model, s.d_ff);
    norm(layer + "/feed_forward_norm");
  }
  if (s.norm == Norm::pre) norm(s.name + "/final_norm");
}

template <class T>
TransformerStack<T>::TransformerStack(const StackSettings& settings) : settings_(settings) {
  if (settings.heads.positions == Positions::sinusoidal)
    sinusoids_ = sinusoidal_positions<T>(settings.max_length, settings.d_model);
}

template <class T>
Var<T> TransformerStack<T>::embed(Pass<T>& pass, const PackedTokens& tokens,
                                  std::span<const std::int64_t> first) const {
  const StackSettings& s = settings_;
  std::vector<std::int32_t> at = positions_of(tokens.rows);
  for (std::int64_t i = 0; i < tokens.rows.sentences(); ++i) {
    const std::int64_t begin = first.empty() ? 0 : first[static_cast<std::size_t>(i)];
    if (begin + tokens.rows.length(i) > s.max_length) {
      throw SentenceError(i, concat("a sentence of ", begin + tokens.rows.length(i),
                                    " tokens is longer than the model's max_length = ", s.max_length));
    }
    for (std::int64_t row = tokens.rows.offset(i); row < tokens.rows.offset(i + 1); ++row)
      at[static_cast<std::size_t>(row)] += static_cast<std::int32_t>(begin);
  }
  const Scope<T> root(pass), stack = root / s.name;
  Var<T> positions;
  if (s.heads.positions == Positions::learned) positions = stack.parameter("positions/weight");
  if (s.heads.positions == Positions::sinusoidal)
    positions = pass.tape->constant({sinusoids_.data(), s.max_length, s.d_model});
  Arena& arena = pass.tape->arena();
  const Var<T> x = embedding(root.parameter(s.embedding_table), arena.keep<std::int32_t>(tokens.ids),
                             std::sqrt(static_cast<T>(s.d_model)), positions, arena.keep<std::int32_t>(at),
                             stack.dropout(s.embedding_dropout));
  return stack.name("embedded", x, tokens.rows);
}

template <class T>
Var<T> TransformerStack<T>::finish(const Scope<T>& stack, Var<T> x, const Packing& rows) const {
  if (settings_.norm == Norm::pre) {
    const Scope<T> norm = stack / "final_norm";
    const T eps = static_cast<T>(settings_.norm_epsilon);
    x = add_layer_norm(x, Var<T>(), Dropout{}, norm.parameter("gamma"), norm.parameter("beta"), eps).output;
  }
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
  Var<T> x = input.states;
  for (std::int64_t i = first; i < last; ++i)
    x = transformer_layer(layer_scope(encoder, i), x, *input.rows, s);
  if (last == s.n_layers) x = stack_.finish(encoder, x, *input.rows);
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

/// The state's memory: keys and values of layer after layer.
template <class T>
DecoderState<T> TransformerDecoder<T>::start(Pass<T>& pass, std::int64_t sentences,
                                             const Encoded<T>* memory) const {
  const StackSettings& s = stack_.settings();
  DecoderState<T> state(sentences);
  state.caches.resize(static_cast<std::size_t>(s.n_layers));
  if (!s.reads_memory) return state;
  if (!memory) fail("the decoder reads an encoder's output, and there is none");
  state.memory_rows = memory->rows;
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const Scope<T> scope = layer_scope(Scope<T>(pass) / s.name, i) / "cross_attention";
    const KeysAndValues<T> kept = memory_keys(scope, memory->states, *memory->rows, s.heads);
    state.memory.insert(state.memory.end(), {kept.key, kept.value, kept.key_transposed});
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
  if (s.reads_memory) input.groups = &pass.tape->own(state.groups(rows));
  Var<T> x = embedded;
  for (std::int64_t i = 0; i < s.n_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    if (state.keeps_past) input.past = {&state.caches[layer], &state.past, state.appended()};
    if (s.reads_memory) {
      input.memory_rows = state.memory_rows;
      input.memory = {state.memory[3 * layer], state.memory[3 * layer + 1], state.memory[3 * layer + 2]};
    }
    x = transformer_layer(layer_scope(decoder, i), x, rows, s, input);
  }
  x = stack_.finish(decoder, x, rows);
  return {x, {}};
}

HEED_INSTANTIATE(declare_stack)
HEED_INSTANTIATE(declare_table)
HEED_INSTANTIATE(declare_words)
HEED_INSTANTIATE_CLASS(TransformerEncoder)
HEED_INSTANTIATE_CLASS(TransformerDecoder)

}  // namespace heed
