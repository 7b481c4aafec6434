#include "models/luong.h"

#include "base/error.h"
#include "models/luong_decoder.h"
#include "nn/recurrent_stack.h"

namespace heed {

void LuongConfig::check() const {
  if (bidirectional && reverse_source) {
    fail<UsageError>("reverse_source: a bidirectional encoder reads both ways already");
  }
}

namespace {

/// Initial values: section 4.1, uniform in +-0.1 throughout; or Glorot's.
template <class T>
void declare(ParameterSet<T>& p, const LuongConfig& config) {
  const RecurrentSizes encoder = config.encoder(), decoder = config.decoder();
  const std::int64_t m = config.d_embedding, k = decoder.d_hidden, a = config.d_align,
                     d = config.attentional_width();
  const bool paper = config.init == "paper";
  auto init = [&](std::int64_t d_in, std::int64_t d_out) {
    return paper ? Init::uniform(0.1) : Init::xavier(d_in, d_out);
  };
  auto matrix = [&](const std::string& name, std::int64_t d_in, std::int64_t d_out) {
    p.add(name, {d_in, d_out}, init(d_in, d_out));
  };
  auto cell = [&](std::int64_t width) {
    return [=](std::int64_t d_in) {
      return paper ? RecurrentInit{Init::uniform(0.1), Init::uniform(0.1), Init::uniform(0.1)}
                   : RecurrentInit{Init::xavier(d_in, width), Init::orthogonal(), Init::zeros()};
    };
  };
  const Init words = paper ? Init::uniform(0.1) : Init::normal(kWordDeviation);

  p.add("encoder/embedding/weight", {config.source_vocab_size, m}, words);
  for (std::int64_t l = 0; l < config.n_layers && config.bidirectional; ++l) {
    for (const char* part : {"/forward", "/backward"}) {
      const std::int64_t d_in = l == 0 ? m : k;
      add_recurrent(p, "encoder/layer_" + std::to_string(l) + part, encoder, d_in,
                    cell(encoder.d_hidden)(d_in));
    }
  }
  if (!config.bidirectional)
    add_recurrent_stack<T>(p, "encoder", encoder, config.n_layers, m, cell(encoder.d_hidden));
  p.add("decoder/embedding/weight", {config.target_vocab_size, m}, words);
  add_recurrent_stack<T>(p, "decoder", decoder, config.n_layers, m, cell(k));
  if (config.input_feeding) add_gate_input(p, "decoder/layer_0/state", "feed", decoder, d, init(d, k));

  const std::string align = "decoder/layer_" + std::to_string(config.n_layers - 1) + "/cross_attention";
  add_attention(p, align, config.attends(), {k, k, a, config.max_source_positions},
                [&](const NamedShape& parameter) {
                  const Shape& shape = parameter.shape;
                  return shape.size() == 1 ? init(shape[0], 1) : init(shape[0], shape[1]);
                });
  const Init w_c = init(2 * k, d);
  p.add("decoder/attentional/context/weight", {k, d}, w_c);
  p.add("decoder/attentional/state/weight", {k, d}, w_c);
  matrix("decoder/output/weight", d, config.target_vocab_size);
}

/// One layer of the encoder: h of every row and the last states. A reversed source is read from its last word
/// on; h keeps the sentence's own order.
template <class T>
RecurrentOutput<T> encoder_layer(const Scope<T>& layer, const LuongConfig& config, Var<T> x,
                                 const Packing& rows) {
  const RecurrentSizes sizes = config.encoder();
  if (!config.bidirectional) {
    return recurrent(layer / "state", sizes, x, rows,
                     config.reverse_source ? Direction::backward : Direction::forward);
  }
  const RecurrentOutput<T> f = recurrent(layer / "forward", sizes, x, rows, Direction::forward),
                           b = recurrent(layer / "backward", sizes, x, rows, Direction::backward);
  const std::int64_t n = sizes.d_hidden;
  Tape<T>& tape = layer.tape();
  Var<T> last = side_by_side(tape.columns(f.last, 0, n), tape.columns(b.last, 0, n));
  if (sizes.cell == "lstm") {
    last = side_by_side(last, side_by_side(tape.columns(f.last, n, n), tape.columns(b.last, n, n)));
  }
  return {side_by_side(f.h, b.h), last};
}

template <class T>
class LuongEncoder final : public RecurrentEncoder<T, LuongConfig> {
 public:
  using RecurrentEncoder<T, LuongConfig>::RecurrentEncoder;

  /// Throws Error when a source sentence is longer than the location score knows.
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const override {
    expect_known_positions(this->config_, tokens.rows);
    return RecurrentEncoder<T, LuongConfig>::embed(pass, tokens);
  }

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    const LuongConfig& config = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    Encoded<T> x = input;
    for (std::int64_t l = first; l < last; ++l) {
      const Scope<T> layer = layer_scope(encoder, l);
      const RecurrentOutput<T> out = encoder_layer(layer, config, x.states, *x.rows);
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
    const Scope<T> align = cross_attention_scope(pass, this->config_);
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
    Tape<T>& tape = *pass.tape;
    const StepOrder order(rows, Direction::forward, pass.continuation);
    LuongSteps<T> decoder(pass, this->config_, source, order.rows());
    const Var<T> input =
        decoder.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(rows));
    std::vector<Var<T>> before, attentional;
    for (const Var<T>& row : state.rows) before.push_back(select_rows<T>({row}, order.to_first_step()));
    Var<T> fed;
    if (static_cast<std::int64_t>(before.size()) > this->config_.n_layers) {
      fed = before.back();
      before.pop_back();
    }
    std::vector<std::vector<Var<T>>> states(before.size());  // of each layer, step after step
    for (std::int64_t t = 0; t < order.steps(); ++t) {
      const std::int64_t n = order.active(t);
      for (Var<T>& row : before) row = tape.row_range(row, 0, n);
      if (fed) fed = tape.row_range(fed, 0, n);
      const auto step =
          decoder(tape.row_range(input, order.first(t), n), before, fed, order.rows_of(t, rows));
      before = step.states;
      for (std::size_t l = 0; l < states.size(); ++l) states[l].push_back(before[l]);
      fed = step.attentional;
      attentional.push_back(fed);
    }
    if (state.keeps_past) {
      state.rows.clear();
      for (const auto& layer : states) state.rows.push_back(select_rows(layer, order.to_last_of_steps()));
      state.rows.push_back(select_rows(attentional, order.to_last_of_steps()));
    }
    return select_rows(attentional, order.to_packed());
  }

  /// Without, the recurrence runs through all words before the attention acts.
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
    return attention(states, {sentences, 0, &rows, false, times});
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const LuongConfig& config) {
  auto model = recurrent_pair<T, LuongEncoder, LuongDecoder>(config);
  declare(model->parameters, config);
  return model;
}

template std::unique_ptr<Model<float>> build(const LuongConfig&);
template std::unique_ptr<Model<double>> build(const LuongConfig&);

}  // namespace heed
