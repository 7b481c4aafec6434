// The common part of all recurrent translation models: config fields, word embeddings of both sides, an
// output layer without bias, initial values, and the recurrence of a decoder that attends at every step.
// Parameters: encoder/embedding/weight [V_x, d_embedding], decoder/embedding/weight [V_y, d_embedding],
// decoder/output/weight [d_out, V_y].
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/choice.h"
#include "base/fields.h"
#include "models/config_json.h"
#include "models/model.h"
#include "nn/attention/step_attention.h"
#include "nn/recurrent.h"

namespace heed {

enum class InitialValues { paper, xavier };
inline const Choice<InitialValues> kInitialValues{"init", {"paper", "xavier"}};

/// The config fields of every recurrent model, including those of its layers (nn/recurrent.h).
struct RecurrentOptions {
  std::int64_t source_vocab_size = 0;
  std::int64_t target_vocab_size = 0;
  std::int64_t d_embedding;
  std::int64_t d_hidden = 1000;
  std::string cell;
  std::string init = "paper";
  bool peepholes = false;
  bool layer_norm = false;
  bool learned_start = false;
  double recurrent_dropout = 0;
  double dropout = 0;

  RecurrentOptions(std::int64_t embedding_width, const char* usual_cell)
      : d_embedding(embedding_width), cell(usual_cell) {}

  /// The first fields in the config of an encoder-decoder pair.
  template <class Self, class Visit>
  static void size_fields(Self& self, Visit&& field) {
    source_field(self, field);
    field("target_vocab_size", self.target_vocab_size, "size of the target vocabulary", up_to(10'000'000));
    width_fields(self, field);
  }
  template <class Self, class Visit>
  static void source_field(Self& self, Visit&& field) {
    field("source_vocab_size", self.source_vocab_size, "size of the source vocabulary", up_to(10'000'000));
  }
  template <class Self, class Visit>
  static void width_fields(Self& self, Visit&& field) {
    field("d_embedding", self.d_embedding, "width of the embeddings", up_to(65'536));
    field("d_hidden", self.d_hidden, "width of a layer's state, in each direction", up_to(65'536));
  }
  template <class Self, class Visit>
  static void cell_field(Self& self, Visit&& field) {
    field("cell", self.cell, "recurrent cell (cho: of the encoder)", cell_names());
  }
  /// The last fields: initial values, the options of the layers and dropout.
  template <class Self, class Visit>
  static void practice_fields(Self& self, Visit&& field) {
    field("init", self.init, "initial parameters: as in the paper, or uniform by width (Glorot)",
          kInitialValues.words);
    field("peepholes", self.peepholes,
          "peephole connections: the gates of an lstm also read its memory cell");
    field("layer_norm", self.layer_norm, "layer normalisation of the gates' sums");
    field("learned_start", self.learned_start, "learn the encoder's initial states instead of zeros");
    field("recurrent_dropout", self.recurrent_dropout,
          "dropout on the states that the gates read, one mask per sentence", share())
        .of_training = true;
    field("dropout", self.dropout, "dropout after each layer or sublayer", share()).of_training = true;
  }

  /// A layer with given initial states.
  RecurrentSizes layer(const std::string& cell_name, std::int64_t width) const {
    return {cell_name, width, peepholes, layer_norm, false, recurrent_dropout};
  }
  /// A layer of the encoder, in one direction, with its own initial state.
  RecurrentSizes encoder() const {
    return {cell, d_hidden, peepholes, layer_norm, learned_start, recurrent_dropout};
  }
};

/// Deviation of the word embeddings' initial values beside Glorot's matrices: large enough that states, and
/// hence scores and logits, do not start near zero. With 0.1 Luong's system learns an epoch later.
inline constexpr double kWordDeviation = 1;

/// Declares the parameters of a recurrent model with the initial values that its config asks for: either all
/// as in the paper, or matrices uniform by width (Glorot), recurrent ones orthogonal and biases zero.
template <class T>
class Declaration {
 public:
  /// `paper`: the paper's distribution of matrices; if uniform, it includes biases and recurrent matrices, if
  /// normal it does not. `word_deviation`: of embeddings beside Glorot's matrices.
  Declaration(ParameterSet<T>& parameters, const RecurrentOptions& options, Init paper,
              double word_deviation = kWordDeviation)
      : parameters_(parameters),
        d_embedding_(options.d_embedding),
        paper_(paper),
        as_in_paper_(kInitialValues(options.init) == InitialValues::paper),
        words_(as_in_paper_ ? paper : Init::normal(word_deviation)) {}

  bool as_in_paper() const { return as_in_paper_; }
  Init init(std::int64_t d_in, std::int64_t d_out) const {
    return as_in_paper_ ? paper_ : Init::xavier(d_in, d_out);
  }
  Init init(const Shape& shape) const { return init(shape[0], shape.size() == 1 ? 1 : shape[1]); }
  RecurrentInit cell(std::int64_t d_in, std::int64_t width) const {
    if (as_in_paper_ && paper_.kind == Init::Kind::uniform) return {paper_, paper_, paper_};
    return {init(d_in, width), Init::orthogonal(), Init::zeros()};
  }

  /// <side>/embedding/weight
  void words(const std::string& side, std::int64_t count) {
    parameters_.add(side + "/embedding/weight", {count, d_embedding_}, words_);
  }
  void matrix(const std::string& name, std::int64_t d_in, std::int64_t d_out) {
    parameters_.add(name, {d_in, d_out}, init(d_in, d_out));
  }
  /// weight and bias
  void linear(const std::string& scope, std::int64_t d_in, std::int64_t d_out) {
    matrix(scope + "/weight", d_in, d_out);
    parameters_.add(scope + "/bias", {d_out}, Init::zeros());
  }
  void recurrent(const std::string& scope, const RecurrentSizes& sizes, std::int64_t d_in) {
    add_recurrent(parameters_, scope, sizes, d_in, cell(d_in, sizes.d_hidden));
  }
  /// <part>/layer_<l>/state (nn/recurrent.h)
  void stack(const std::string& part, const RecurrentSizes& sizes, std::int64_t n_layers) {
    for (std::int64_t l = 0; l < n_layers; ++l)
      recurrent(concat(part, "/layer_", l, "/state"), sizes, l == 0 ? d_embedding_ : sizes.d_hidden);
  }
  void bidirectional(const std::string& layer, const RecurrentSizes& sizes, std::int64_t d_in) {
    recurrent(layer + "/forward", sizes, d_in);
    recurrent(layer + "/backward", sizes, d_in);
  }
  /// nn/maxout_readout.h
  void maxout_readout(const std::string& scope, std::int64_t d_state, std::int64_t d_context,
                      std::int64_t d_maxout) {
    linear(scope + "/state", d_state, 2 * d_maxout);
    matrix(scope + "/embedding/weight", d_embedding_, 2 * d_maxout);
    matrix(scope + "/context/weight", d_context, 2 * d_maxout);
  }
  void gate_input(const std::string& scope, const std::string& part, const RecurrentSizes& sizes,
                  std::int64_t d_in) {
    add_gate_input(parameters_, scope, part, sizes, d_in, init(d_in, sizes.d_hidden));
  }

 private:
  ParameterSet<T>& parameters_;
  std::int64_t d_embedding_;
  Init paper_;
  bool as_in_paper_;
  Init words_;
};

/// The final states that encode() returns for a unidirectional layer.
inline FinalWidths final_widths_of(const RecurrentSizes& layer) {
  return {layer.d_hidden, layer.state_width() - layer.d_hidden};
}

/// Names the final states of a layer: final_h and, for an LSTM, final_c [sentences, ...].
template <class T>
Var<T> name_final(const Scope<T>& layer, FinalWidths widths, Var<T> state) {
  if (!layer.inspected("final_h") && !layer.inspected("final_c")) return state;
  Tape<T>& tape = layer.tape();
  Var<T> h = layer.name_sentences("final_h", tape.columns(state, 0, widths.h));
  if (widths.c == 0) return h;
  return side_by_side(h, layer.name_sentences("final_c", tape.columns(state, widths.h, widths.c)));
}

/// The sizes of a recurrent part: unlimited sentence length, no self-attention.
PartSizes recurrent_part(std::int64_t vocab_size, std::int64_t n_layers, std::int64_t d_embedding,
                         std::int64_t d_model);
/// The sizes of a decoder whose top layer attends to the memory, with one head.
DecoderSizes attending_decoder(const PartSizes& part, HeadWidths head);
/// The sizes of a decoder that reads only the encoder's final states.
DecoderSizes fixed_vector_decoder(const PartSizes& part);

/// The parts of a state that belong to an attention's memory.
template <class T>
void keep_memory(const AttentionMemory<T>& source, DecoderState<T>& state) {
  state.memory = {source.value, source.key};
  state.memory_rows = source.rows;
}
template <class T>
AttentionMemory<T> kept_memory(const DecoderState<T>& state) {
  return {state.memory[0], state.memory[1], state.memory_rows};
}

/// The scope <part>/layer_<l>/cross_attention of the decoder.
template <class T>
Scope<T> cross_attention_scope(Pass<T>& pass, std::int64_t layer) {
  return layer_scope(Scope<T>(pass) / "decoder", layer) / "cross_attention";
}

/// s_0 = tanh(x W + b) of decoder/initial, one row per sentence; named.
template <class T>
Var<T> initial_state(Pass<T>& pass, Var<T> x) {
  const Scope<T> scope = Scope<T>(pass) / "decoder" / "initial";
  return scope.name_sentences(
      "output", linear(x, scope.parameter("weight"), scope.parameter("bias"), Activation::tanh));
}

/// Both directions of a layer over whole packed sentences: h side by side, and the final states of both, h
/// before c.
template <class T>
RecurrentOutput<T> bidirectional(const Scope<T>& layer, const RecurrentSizes& sizes, Var<T> x,
                                 const Packing& rows);

/// One step of a decoder's recurrence.
template <class T>
struct DecoderStep {
  std::vector<Var<T>> states;   ///< the next step starts from these
  std::vector<Var<T>> outputs;  ///< inputs of the decoder's states, which are computed for all steps at once
};
/// step(input of the gates, previous states, what the rows are); the state's rows precede those of the first
/// step.
template <class T>
using StateStep =
    std::function<DecoderStep<T>(Var<T> input, const std::vector<Var<T>>& before, const StepRows& rows)>;

/// Reads packed rows onto the state step by step: `input` [rows, ...] is in time order. Returns the outputs
/// of all rows, packed; the state's rows become those after each sequence's last step, if its past is kept.
template <class T>
std::vector<Var<T>> read_step_by_step(DecoderState<T>& state, const StepOrder& order, const Packing& rows,
                                      Var<T> input, const StateStep<T>& step);

/// A recurrent layer whose gates also read a context chosen by the previous state: a step of Bahdanau's and
/// Xu's decoders. Parameters: <layer>/state with state/context, <layer>/cross_attention.
template <class T>
class AttendingLayer {
 public:
  /// `rows`: the number of rows of all steps together.
  AttendingLayer(const Scope<T>& layer, const RecurrentSizes& sizes, const AttentionConfig& attends,
                 const AttentionMemory<T>& source, std::int64_t rows)
      : layer_(layer),
        state_(layer / "state", sizes, rows),
        attention_(layer / "cross_attention", attends, source, rows),
        context_((layer / "state" / "context").stacked(sizes.gates(), "weight"), rows) {}

  struct Step {
    typename StepAttention<T>::Step attended;
    Var<T> state;
  };
  /// `input` comes from the words; `sampled` as in StepAttention.
  Step operator()(Var<T> input, Var<T> before, const StepRows& rows,
                  const std::vector<SampleStream>& sampled = {}) {
    const AtStep<T> at_step(layer_.pass(), rows);
    const auto attended = attention_(state_.hidden(before), rows, sampled);
    return {attended, state_.step(context_(attended.context, input), before)};
  }
  const RecurrentSteps<T>& recurrence() const { return state_; }

 private:
  Scope<T> layer_;
  RecurrentSteps<T> state_;
  StepAttention<T> attention_;
  StepLinear<T> context_;
};

/// E y of packed words, with dropout; named embedded.
template <class T>
Var<T> embed_words(Pass<T>& pass, const std::string& stack_name, const PackedTokens& tokens, double dropout);

/// Config has the fields d_embedding and dropout, and encoder_sizes().
template <class T, class ConfigOf>
class RecurrentEncoder : public Encoder<T> {
 public:
  explicit RecurrentEncoder(const ConfigOf& config) : Encoder<T>(config.encoder_sizes()), config_(config) {}
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const override {
    return embed_words(pass, "encoder", tokens, config_.dropout);
  }

 protected:
  ConfigOf config_;
};

/// Requires d_embedding, dropout and decoder_sizes() of the config.
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

/// A model of these two parts; `declare` adds their parameters.
template <class T, template <class> class EncoderOf, template <class> class DecoderOf, class Config>
std::unique_ptr<Model<T>> recurrent_pair(const Config& config,
                                         void (*declare)(ParameterSet<T>&, const Config&)) {
  auto model = new_model<T>(config);
  declare(model->parameters, config);
  model->encoder = std::make_unique<EncoderOf<T>>(config);
  model->decoder = std::make_unique<DecoderOf<T>>(config);
  model->words = {"decoder/output/weight", false};
  return model;
}

}  // namespace heed
