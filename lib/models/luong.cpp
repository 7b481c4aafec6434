#include "models/luong.h"

#include <algorithm>
#include <functional>

#include "base/sentence_error.h"

namespace heed {

void LuongConfig::check() const {
  if (bidirectional && reverse_source) {
    fail<UsageError>("reverse_source: a bidirectional encoder reads both ways already");
  }
}

namespace {

/// Section 4.1: uniform in +-0.1 throughout.
template <class T>
void declare(ParameterSet<T>& p, const LuongConfig& config) {
  const RecurrentSizes encoder = config.encoder(), decoder = config.decoder();
  const std::int64_t m = config.d_embedding, k = decoder.d_hidden, d = config.attentional_width(),
                     top = config.n_layers - 1;
  Declaration<T> add(p, config, Init::uniform(0.1));
  add.words("encoder", config.source_vocab_size);
  if (config.bidirectional) {
    for (std::int64_t l = 0; l <= top; ++l)
      add.bidirectional("encoder/layer_" + std::to_string(l), encoder, l == 0 ? m : k);
  } else {
    add.stack("encoder", encoder, config.n_layers);
  }
  add.words("decoder", config.target_vocab_size);
  add.stack("decoder", decoder, config.n_layers);
  if (config.input_feeding) add.gate_input("decoder/layer_0/state", "feed", decoder, d);
  add_attention(p, "decoder/layer_" + std::to_string(top) + "/cross_attention", config.attends(),
                {k, k, config.d_align, config.max_source_positions},
                [&](const NamedShape& parameter) { return add.init(parameter.shape); });
  const Init w_c = add.init(2 * k, d);
  p.add("decoder/attentional/context/weight", {k, d}, w_c);
  p.add("decoder/attentional/state/weight", {k, d}, w_c);
  add.matrix("decoder/output/weight", d, config.target_vocab_size);
}

/// Throws Error unless the location score has a column for every source position.
void expect_known_positions(const LuongConfig& config, const Packing& source) {
  if (!config.attends().score->knows_positions()) return;
  for (std::int64_t s = 0; s < source.sentences(); ++s) {
    if (source.length(s) > config.max_source_positions)
      throw SentenceError(
          s, concat("a source sentence of ", source.length(s), " tokens: score ", config.score,
                    " was made for at most ", config.max_source_positions, " (max_source_positions)"));
  }
}

/// Sections 3.1 and 3.2: attention, which works on the states of any number of steps at once.
template <class T>
class LuongAttention {
 public:
  /// `rows`: how many rows all calls together have.
  LuongAttention(Pass<T>& pass, const LuongConfig& config, const AttentionMemory<T>& source,
                 std::int64_t rows)
      : attentional_(Scope<T>(pass) / "decoder" / "attentional"),
        attention_(cross_attention_scope(pass, config.n_layers - 1), config.attends(), source, rows),
        w_context_(attentional_.parameter("context/weight"), rows),
        w_state_(attentional_.parameter("state/weight"), rows) {}

  /// s: states s_t [n, k] -> h~_t [n, d].
  Var<T> operator()(Var<T> s, const StepRows& rows) {
    const AtStep<T> at_step(attentional_.pass(), rows);
    const Var<T> context = attention_(s, rows).context;                   // c_t [n, k]
    const Var<T> w_c = w_context_(context, w_state_(s));                  // W_c [c_t; s_t]
    return attentional_.name("output", activate(Activation::tanh, w_c));  // eq. 5: [n, d]
  }

 private:
  Scope<T> attentional_;
  StepAttention<T> attention_;
  StepLinear<T> w_context_, w_state_;
};

/// The step needed for input feeding.
template <class T>
class LuongSteps {
 public:
  /// `rows`: how many rows all steps together have.
  LuongSteps(Pass<T>& pass, const LuongConfig& config, const AttentionMemory<T>& source, std::int64_t rows)
      : config_(config),
        decoder_(Scope<T>(pass) / "decoder"),
        attention_(pass, config, source, rows),
        feed_((decoder_ / "layer_0" / "state" / "feed").stacked(config.decoder().gates(), "weight"), rows) {
    const std::vector<std::string> gates = config.decoder().gates();
    for (std::int64_t l = 0; l < config.n_layers; ++l) {
      const Scope<T> state = layer_scope(decoder_, l) / "state", input = state / "input";
      layers_.emplace_back(state, config.decoder(), rows);
      if (l > 0) between_.emplace_back(input.stacked(gates, "weight"), rows, input.stacked(gates, "bias"));
    }
  }

  const RecurrentSteps<T>& lowest() const { return layers_.front(); }
  /// `before`: the states of each layer and, but for the first step, h~_(t-1) [n, d].
  DecoderStep<T> operator()(Var<T> input, const std::vector<Var<T>>& before, const StepRows& rows) {
    const AtStep<T> at(decoder_.pass(), rows);
    DecoderStep<T> step;
    Var<T> x = before.size() > layers_.size() ? feed_(before.back(), input) : input;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (l > 0) x = input_from_below(l, up(step.states.back(), l - 1));
      step.states.push_back(layers_[l].step(x, before[l]));
    }
    step.outputs = {attention_(up(step.states.back(), layers_.size() - 1), rows)};
    step.states.push_back(step.outputs[0]);
    return step;
  }

 private:
  /// The input of layer l > 0 from the state h of the layer below. The gradient of W is taken once for all
  /// steps, unless each step's product must be normalised.
  Var<T> input_from_below(std::size_t l, Var<T> h) {
    return config_.layer_norm ? layers_[l].input(h) : between_[l - 1](h);
  }
  /// A layer's output: with dropout for the next layer, without for the attention, because noise in s_t would
  /// affect every score.
  Var<T> up(Var<T> state, std::size_t l) const {
    const Scope<T> layer = layer_scope(decoder_, static_cast<std::int64_t>(l));
    Var<T> h = layers_[l].hidden(state);
    if (l + 1 < layers_.size()) h = drop_out(h, decoder_.dropout(config_.dropout));
    return layer.name("output", h);
  }

  const LuongConfig& config_;
  Scope<T> decoder_;
  LuongAttention<T> attention_;
  StepLinear<T> feed_;
  std::vector<RecurrentSteps<T>> layers_;
  std::vector<StepLinear<T>> between_;
};

template <class T>
class LuongEncoder final : public RecurrentEncoder<T, LuongConfig> {
 public:
  using RecurrentEncoder<T, LuongConfig>::RecurrentEncoder;

  /// Throws Error if a source sentence is longer than the location score supports.
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const override {
    expect_known_positions(this->config_, tokens.rows);
    return RecurrentEncoder<T, LuongConfig>::embed(pass, tokens);
  }

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    const LuongConfig& config = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    const Direction direction = config.reverse_source ? Direction::backward : Direction::forward;
    Encoded<T> x = input;
    for (std::int64_t l = first; l < last; ++l) {
      const Scope<T> layer = layer_scope(encoder, l);
      const RecurrentOutput<T> out =
          config.bidirectional ? bidirectional(layer, config.encoder(), x.states, *x.rows)
                               : recurrent(layer / "state", config.encoder(), x.states, *x.rows, direction);
      x.states = layer.name("output", drop_out(out.h, layer.dropout(config.dropout)), *x.rows);
      x.final_states.push_back(name_final(layer, this->sizes().final_states, out.last));
    }
    if (last == config.n_layers) x.states = encoder.name("output", x.states, *x.rows);
    return x;
  }
};

/// A hypothesis is its layers' states and, with input feeding and after the first step, h~_t.
template <class T>
class LuongDecoder final : public RecurrentDecoder<T, LuongConfig> {
 public:
  using RecurrentDecoder<T, LuongConfig>::RecurrentDecoder;

  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    expect_known_positions(this->config_, *memory->rows);
    const Scope<T> align = cross_attention_scope(pass, this->config_.n_layers - 1);
    keep_memory(prepare_memory(align, this->config_.attends(), memory->states, *memory->rows), state);
    state.rows = memory->final_states;
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const Reading<T> reading(pass, state, rows);
    const Scope<T> decoder = Scope<T>(pass) / "decoder";
    const AttentionMemory<T> source = kept_memory(state);
    const Var<T> attentional = this->config_.input_feeding ? step_by_step(pass, state, source, embedded, rows)
                                                           : all_at_once(pass, state, source, embedded, rows);
    const Dropout drop = decoder.dropout(this->config_.output_dropout);
    return {decoder.name("output", drop_out(attentional, drop), rows), {}};
  }

 private:
  /// With input feeding each step reads h~ of the one before (section 3.3). h~ of the packed words.
  Var<T> step_by_step(Pass<T>& pass, DecoderState<T>& state, const AttentionMemory<T>& source,
                      Var<T> embedded, const Packing& rows) const {
    const StepOrder order(rows, Direction::forward, pass.continuation);
    LuongSteps<T> decoder(pass, this->config_, source, order.rows());
    const Var<T> input = decoder.lowest().input(embedded, order, rows);
    return read_step_by_step<T>(state, order, rows, input, std::ref(decoder))[0];
  }

  /// Without input feeding, the recurrence runs over all words before the attention.
  Var<T> all_at_once(Pass<T>& pass, DecoderState<T>& state, const AttentionMemory<T>& source, Var<T> embedded,
                     const Packing& rows) const {
    const LuongConfig& config = this->config_;
    const Scope<T> decoder = Scope<T>(pass) / "decoder";
    const auto layers = [&](std::int64_t from, std::int64_t to, Var<T> x, double dropout) {
      const std::vector<Var<T>> first(state.rows.begin() + from, state.rows.begin() + to);
      const StackOutput<T> stack =
          recurrent_stack(decoder, config.decoder(), from, to, x, rows, Direction::forward, dropout, first);
      std::copy(stack.last.begin(), stack.last.end(), state.rows.begin() + from);
      return stack.h;
    };
    const std::int64_t top = config.n_layers - 1;  // its output goes to the attention without dropout
    const Var<T> states = layers(top, config.n_layers, layers(0, top, embedded, config.dropout), 0);
    std::vector<std::int64_t> sentences, times;
    for (const Place& row : places_of(rows)) {
      const Place place = (*pass.continuation)(row);
      sentences.push_back(place.sentence);
      times.push_back(place.position);
    }
    LuongAttention<T> attention(pass, config, source, rows.rows());
    return attention(states, {sentences, 0, &rows, times});
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const LuongConfig& config) {
  return recurrent_pair<T, LuongEncoder, LuongDecoder>(config, declare<T>);
}

template std::unique_ptr<Model<float>> build(const LuongConfig&);
template std::unique_ptr<Model<double>> build(const LuongConfig&);

}  // namespace heed
