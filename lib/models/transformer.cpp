#include "models/transformer.h"

#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "models/config_json.h"
#include "models/transformer_layers.h"
#include "models/transformer_stepper.h"
#include "nn/positional_encoding.h"

namespace heed {

void TransformerConfig::check() const {
  check_size("source_vocab_size", source_vocab_size, 10'000'000);
  check_size("target_vocab_size", target_vocab_size, 10'000'000);
  check_size("n_encoder_layers", n_encoder_layers, 1'000);
  check_size("n_decoder_layers", n_decoder_layers, 1'000);
  check_size("d_model", d_model, 65'536);
  check_size("d_ff", d_ff, 1'000'000);
  check_size("n_heads", n_heads, 65'536);
  check_size("max_length", max_length, 1'000'000);
  if (d_model % n_heads) fail<UsageError>("d_model = ", d_model, " is not a multiple of n_heads = ", n_heads);
  check_probability("dropout", dropout);
  if (embedding_dropout != -1) check_probability("embedding_dropout", embedding_dropout);
  check_probability("attention_dropout", attention_dropout);
  check_probability("activation_dropout", activation_dropout);
  if (!(norm_epsilon >= 0)) fail<UsageError>("norm_epsilon is ", norm_epsilon, ", wanted at least 0");
  if (tied == "all" && source_vocab_size != target_vocab_size) {
    fail<UsageError>("tied = all needs one vocabulary for both sides; there are ", source_vocab_size,
                     " source and ", target_vocab_size,
                     " target entries: use --tied decoder, or a joint vocabulary");
  }
}

template <class T>
Transformer<T>::Transformer(const TransformerConfig& config) : config_(config) {
  config_.check();
  if (config_.positions == "sinusoidal")
    sinusoids_ = sinusoidal_positions<T>(config_.max_length, config_.d_model);
  declare_parameters();
}

template <class T>
const std::string& Transformer<T>::architecture() const {
  static const std::string name = "transformer";
  return name;
}

template <class T>
std::string Transformer<T>::config_json() const {
  TransformerConfig copy = config_;
  return to_json(architecture(), fields_of(copy));
}

template <class T>
void Transformer<T>::declare_parameters() {
  ParameterSet<T>& p = this->parameters_;
  const std::int64_t d = config_.d_model;
  const double deviation = 1 / std::sqrt(static_cast<double>(d));
  auto norm = [&](const std::string& scope) {
    if (config_.norm == "none") return;
    p.add(scope + "/gamma", {d}, Init::ones());
    p.add(scope + "/beta", {d}, Init::zeros());
  };
  auto table = [&](const std::string& name, std::int64_t rows) {
    p.add(name, {rows, d}, Init::normal(deviation));
  };

  if (config_.tied == "all") {
    table("embedding/weight", config_.source_vocab_size);
  } else {
    table("encoder/embedding/weight", config_.source_vocab_size);
    table("decoder/embedding/weight", config_.target_vocab_size);
  }
  if (config_.tied == "none") {
    p.add("decoder/output/weight", {d, config_.target_vocab_size}, Init::normal(deviation));
  }
  for (const std::string stack : {"encoder", "decoder"}) {
    if (config_.positions == "learned") table(stack + "/positions/weight", config_.max_length);
    const bool decoder = stack == "decoder";
    for (std::int64_t i = 0; i < (decoder ? config_.n_decoder_layers : config_.n_encoder_layers); ++i) {
      const std::string layer = stack + "/layer_" + std::to_string(i);
      add_self_attention(p, layer + "/self_attention", d);
      norm(layer + "/self_attention_norm");
      if (decoder) {
        add_cross_attention(p, layer + "/cross_attention", d);
        norm(layer + "/cross_attention_norm");
      }
      add_feed_forward(p, layer + "/feed_forward", d, config_.d_ff);
      norm(layer + "/feed_forward_norm");
    }
    if (config_.norm == "pre") norm(stack + "/final_norm");
  }
}

template <class T>
Scope<T> Transformer<T>::embedding_scope(Pass<T>& pass, Side side) const {
  Scope<T> root(pass);
  if (config_.tied == "all") return root / "embedding";
  return root / (side == Side::source ? "encoder" : "decoder") / "embedding";
}

template <class T>
Var<T> Transformer<T>::embed_at(Pass<T>& pass, Side side, std::span<const std::int32_t> ids,
                                std::span<const std::int32_t> position) const {
  Scope<T> stack = Scope<T>(pass) / (side == Side::source ? "encoder" : "decoder");
  Var<T> positions;
  if (config_.positions == "learned") positions = (stack / "positions").parameter("weight");
  if (config_.positions == "sinusoidal") {
    positions = pass.tape->constant({sinusoids_.data(), config_.max_length, config_.d_model});
  }
  const double dropout = config_.embedding_dropout < 0 ? config_.dropout : config_.embedding_dropout;
  const T scale = std::sqrt(static_cast<T>(config_.d_model));  // section 3.4
  return embedding(embedding_scope(pass, side).parameter("weight"), ids, scale, positions, position,
                   stack.dropout(dropout));
}

template <class T>
Var<T> Transformer<T>::embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const {
  if (tokens.rows.longest() > config_.max_length) {
    fail("a sentence of ", tokens.rows.longest(),
         " tokens is longer than the model's max_length = ", config_.max_length);
  }
  Arena& arena = pass.tape->arena();
  Var<T> x = embed_at(pass, side, arena.keep<std::int32_t>(tokens.ids),
                      arena.keep<std::int32_t>(positions_of(tokens.rows)));
  return (Scope<T>(pass) / (side == Side::source ? "encoder" : "decoder")).name("embedded", x, tokens.rows);
}

template <class T>
Var<T> Transformer<T>::final_norm(const Scope<T>& stack, Var<T> x, const Packing& rows) const {
  if (config_.norm == "pre") {
    Scope<T> norm = stack / "final_norm";
    const T eps = static_cast<T>(config_.norm_epsilon);
    x = add_layer_norm(x, Var<T>(), Dropout{}, norm.parameter("gamma"), norm.parameter("beta"), eps).output;
  }
  return stack.name("output", x, rows);
}

template <class T>
Encoded<T> Transformer<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                                  std::int64_t last) const {
  if (first < 0 || first > last || last > config_.n_encoder_layers) {
    fail<UsageError>("layers ", first, ":", last, " are not within the encoder's ", config_.n_encoder_layers);
  }
  Scope<T> encoder = Scope<T>(pass) / "encoder";
  const Packing& rows = *input.rows;
  Var<T> x = input.states;
  for (std::int64_t i = first; i < last; ++i) x = encoder_layer(layer_scope(encoder, i), x, rows, config_);
  return {last == config_.n_encoder_layers ? final_norm(encoder, x, rows) : x, &rows, {}};
}

template <class T>
Var<T> Transformer<T>::decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const {
  const Packing& rows = target.rows;
  const HeadConfig heads{config_.n_heads, config_.attention_dropout};
  PackedTokens input{shifted_right(target), rows};
  Var<T> x = embed(pass, Side::target, input);
  Scope<T> decoder = Scope<T>(pass) / "decoder";
  for (std::int64_t i = 0; i < config_.n_decoder_layers; ++i) {
    x = decoder_layer(
        layer_scope(decoder, i), x, rows, config_,
        [&](const Scope<T>& scope, Var<T> y) { return self_attention(scope, y, rows, true, heads); },
        [&](const Scope<T>& scope, Var<T> y) {
          return cross_attention(scope, y, rows, memory.states, *memory.rows, heads);
        });
  }
  return final_norm(decoder, x, rows);
}

template <class T>
Var<T> Transformer<T>::output_weight(Pass<T>& pass, bool& tied) const {
  tied = config_.tied != "none";
  if (tied) return embedding_scope(pass, Side::target).parameter("weight");
  return (Scope<T>(pass) / "decoder" / "output").parameter("weight");
}

template <class T>
CrossEntropySums Transformer<T>::loss(Pass<T>& pass, Var<T> states, const PackedTokens& target,
                                      double smoothing, T scale) const {
  bool tied;
  Var<T> weight = output_weight(pass, tied);
  return projected_cross_entropy(states, weight, tied, target.ids, smoothing, scale);
}

template <class T>
Var<T> Transformer<T>::logits(Pass<T>& pass, Var<T> states) const {
  bool tied;
  Var<T> weight = output_weight(pass, tied);
  return logits_of(states, weight, tied);
}

template <class T>
std::unique_ptr<Stepper<T>> Transformer<T>::stepper(const Encoded<T>& memory, const Editor<T>* editor) const {
  return std::make_unique<TransformerStepper<T>>(*this, memory, editor);
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace heed
