// What all recurrent translation models share: word embeddings of both sides, a softmax layer without bias,
// and what follows from their config. Parameters: encoder/embedding/weight [V_x, d_embedding],
// decoder/embedding/weight [V_y, d_embedding], decoder/output/weight [d_out, V_y].
#pragma once

#include <memory>
#include <string>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "models/config_json.h"
#include "models/model.h"
#include "nn/attention/step_attention.h"
#include "nn/recurrent.h"

namespace heed {

/// What encode() passes on of a unidirectional layer.
inline FinalWidths final_widths_of(const RecurrentSizes& layer) {
  return {layer.d_hidden, layer.state_width() - layer.d_hidden};
}

/// Names what a layer passes to the decoder: final_h and, of an LSTM, final_c [sentences, ...].
template <class T>
Var<T> name_final(const Scope<T>& layer, FinalWidths widths, Var<T> state) {
  if (!layer.inspected("final_h") && !layer.inspected("final_c")) return state;
  Tape<T>& tape = layer.tape();
  Var<T> h = layer.name_sentences("final_h", tape.columns(state, 0, widths.h));
  if (widths.c == 0) return h;
  return side_by_side(h, layer.name_sentences("final_c", tape.columns(state, widths.h, widths.c)));
}

/// The sizes that a recurrent part states: unlimited sentences, no self-attention.
inline PartSizes recurrent_part(std::int64_t vocab_size, std::int64_t n_layers, std::int64_t d_embedding,
                                std::int64_t d_model) {
  PartSizes sizes;
  sizes.vocab_size = vocab_size;
  sizes.n_layers = n_layers;
  sizes.d_embedding = d_embedding;
  sizes.d_model = d_model;
  return sizes;
}
/// Of a decoder whose top layer attends to the memory, with one head.
inline DecoderSizes attending_decoder(const PartSizes& part, HeadWidths head) {
  DecoderSizes sizes{part};
  sizes.n_heads = 1;
  sizes.heads = head;
  sizes.reads_memory = true;
  sizes.first_attending_layer = part.n_layers - 1;
  return sizes;
}
/// Of a decoder that reads the encoder's last states only.
inline DecoderSizes fixed_vector_decoder(const PartSizes& part) {
  DecoderSizes sizes{part};
  sizes.reads_memory = true;
  sizes.first_attending_layer = part.n_layers;
  return sizes;
}

/// What a state keeps of an attention's memory.
template <class T>
void keep_memory(const AttentionMemory<T>& source, DecoderState<T>& state) {
  state.memory = {source.value, source.key};
  state.memory_rows = source.rows;
}
template <class T>
AttentionMemory<T> kept_memory(const DecoderState<T>& state) {
  return {state.memory[0], state.memory[1], state.memory_rows};
}

/// E y of packed words, with dropout; named embedded.
template <class T>
Var<T> embed_words(Pass<T>& pass, const std::string& stack_name, const PackedTokens& tokens, double dropout) {
  const Scope<T> stack = Scope<T>(pass) / stack_name;
  const Var<T> x = embedding((stack / "embedding").parameter("weight"),
                             pass.tape->arena().template keep<std::int32_t>(tokens.ids), T{1}, Var<T>(), {},
                             stack.dropout(dropout));
  return stack.name("embedded", x, tokens.rows);
}

/// Config has the fields d_embedding and dropout, and encoder_sizes().
template <class T, class ConfigOf>
class RecurrentEncoder : public Encoder<T> {
 public:
  explicit RecurrentEncoder(const ConfigOf& config) : Encoder<T>(config.encoder_sizes()), config_(config) {}
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const override {
    return embed_words(pass, "encoder", tokens, config_.dropout);
  }

 protected:
  void expect_layers(std::int64_t first, std::int64_t last) const {
    if (first < 0 || first > last || last > this->sizes().n_layers)
      fail<UsageError>("layers ", first, ":", last, " are not within the encoder's ", this->sizes().n_layers);
  }
  ConfigOf config_;
};

/// Likewise with decoder_sizes().
template <class T, class ConfigOf>
class RecurrentDecoder : public Decoder<T> {
 public:
  explicit RecurrentDecoder(const ConfigOf& config) : Decoder<T>(config.decoder_sizes()), config_(config) {}
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens, const Continuation& at) const override {
    const Reading<T> reading(pass, at);
    return embed_words(pass, "decoder", tokens, config_.dropout);
  }

 protected:
  ConfigOf config_;
};

/// A model of these two parts.
template <class T, template <class> class EncoderOf, template <class> class DecoderOf, class Config>
std::unique_ptr<Model<T>> recurrent_pair(const Config& config) {
  auto model = new_model<T>(config);
  model->encoder = std::make_unique<EncoderOf<T>>(config);
  model->decoder = std::make_unique<DecoderOf<T>>(config);
  model->words = {"decoder/output/weight", false};
  return model;
}

}  // namespace heed
