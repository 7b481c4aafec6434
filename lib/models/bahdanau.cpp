#include "models/bahdanau.h"

#include "base/error.h"
#include "models/bahdanau_decoder.h"
#include "nn/maxout_readout.h"

namespace heed {

namespace {

/// Initial values: appendix B.1 (orthogonal recurrent matrices, W_a and U_a of deviation 0.001, v_a and
/// biases zero, all others of deviation 0.01), or Glorot's.
template <class T>
void declare(ParameterSet<T>& p, const BahdanauConfig& config) {
  const RecurrentSizes encoder = config.encoder(), decoder = config.decoder();
  const std::int64_t m = config.d_embedding, n = encoder.d_hidden, s = decoder.d_hidden;
  const std::int64_t a = config.d_align, l = config.d_maxout;
  const bool paper = config.init == "paper";
  auto init = [&](std::int64_t d_in, std::int64_t d_out, double deviation) {
    return paper ? Init::normal(deviation) : Init::xavier(d_in, d_out);
  };
  auto matrix = [&](const std::string& name, std::int64_t d_in, std::int64_t d_out, double deviation = 0.01) {
    p.add(name, {d_in, d_out}, init(d_in, d_out, deviation));
  };
  const RecurrentInit cell{init(m, n, 0.01), Init::orthogonal(), Init::zeros()};

  p.add("encoder/embedding/weight", {config.source_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string layer = "encoder/layer_" + std::to_string(i);
    const std::int64_t d_in = i == 0 ? m : 2 * n;
    for (const char* direction : {"/forward", "/backward"})
      add_recurrent(p, layer + direction, encoder, d_in, {init(d_in, n, 0.01), cell.recurrent, cell.bias});
  }

  matrix("decoder/initial/weight", n, decoder.state_width());
  p.add("decoder/initial/bias", {decoder.state_width()}, Init::zeros());
  p.add("decoder/embedding/weight", {config.target_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  add_recurrent(p, "decoder/layer_0/state", decoder, m, {init(m, s, 0.01), cell.recurrent, cell.bias});
  add_gate_input(p, "decoder/layer_0/state", "context", decoder, 2 * n, init(2 * n, s, 0.01));

  add_attention(
      p, "decoder/layer_0/cross_attention", config.attends(), {s, 2 * n, a},
      [&](const NamedShape& parameter) {
        const Shape& shape = parameter.shape;
        if (parameter.name == "query/bias") return Init::zeros();
        if (shape.size() == 1) return paper ? Init::zeros() : Init::xavier(shape[0], 1);
        return init(shape[0], shape[1], 0.001);
      },
      config.align_bias);

  add_maxout_readout(p, "decoder/readout", {s, m, 2 * n, l},
                     [&](std::int64_t d_in, std::int64_t d_out) { return init(d_in, d_out, 0.01); });
  matrix("decoder/output/weight", l, config.target_vocab_size);
}

template <class T>
class BahdanauEncoder final : public RecurrentEncoder<T, BahdanauConfig> {
 public:
  using RecurrentEncoder<T, BahdanauConfig>::RecurrentEncoder;

  /// Section 3.2: h_j = [forward h_j ; backward h_j].
  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    const BahdanauConfig& config = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    const Packing& rows = *input.rows;
    Var<T> h = input.states;
    for (std::int64_t i = first; i < last; ++i) {
      const Scope<T> layer = layer_scope(encoder, i);
      Var<T> forward = recurrent(layer / "forward", config.encoder(), h, rows, Direction::forward).h;
      Var<T> backward = recurrent(layer / "backward", config.encoder(), h, rows, Direction::backward).h;
      h = drop_out(side_by_side(forward, backward), encoder.dropout(config.dropout));
      h = layer.name("output", h, rows);
    }
    return {last == config.n_encoder_layers ? encoder.name("output", h, rows) : h, &rows, {}};
  }
};

/// A hypothesis is its state s.
template <class T>
class BahdanauDecoder final : public RecurrentDecoder<T, BahdanauConfig> {
 public:
  using RecurrentDecoder<T, BahdanauConfig>::RecurrentDecoder;

  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    const Scope<T> align = Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention";
    keep_memory(prepare_memory(align, BahdanauConfig::attends(), memory->states, *memory->rows), state);
    state.rows = {initial_state(pass, this->config_, memory->states, *memory->rows)};
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const BahdanauConfig& config = this->config_;
    const Reading<T> reading(pass, state, rows);
    Tape<T>& tape = *pass.tape;
    const StepOrder order(rows, Direction::forward, pass.continuation);
    const AttentionMemory<T> source = kept_memory(state);
    BahdanauSteps<T> f(pass, config, source, order.rows());
    Var<T> input = f.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(rows));
    Var<T> s = select_rows<T>({state.rows[0]}, order.to_first_step());

    std::vector<Var<T>> c, s_before, s_after, states;
    for (std::int64_t i = 0; i < order.steps(); ++i) {
      s = tape.row_range(s, 0, order.active(i));
      s_before.push_back(f.hidden(s));
      const auto step = f(tape.row_range(input, order.first(i), order.active(i)), s, order.rows_of(i, rows));
      s = step.s;
      states.push_back(s);
      s_after.push_back(f.hidden(s));
      c.push_back(step.c);
    }
    if (state.keeps_past) state.rows = {select_rows(states, order.to_last_of_steps())};
    const Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
    Var<T> context = select_rows(c, order.to_packed());
    Var<T> s_i = layer.name("output", select_rows(s_after, order.to_packed()), rows);
    if (config.readout_state == "previous") s_i = select_rows(s_before, order.to_packed());
    const Scope<T> readout = decoder / "readout";
    Var<T> t = maxout_readout(readout, s_i, embedded, readout_context(readout, context), config.dropout);
    return {decoder.name("output", t, rows), {}};
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const BahdanauConfig& config) {
  auto model = recurrent_pair<T, BahdanauEncoder, BahdanauDecoder>(config);
  declare(model->parameters, config);
  return model;
}

template std::unique_ptr<Model<float>> build(const BahdanauConfig&);
template std::unique_ptr<Model<double>> build(const BahdanauConfig&);

}  // namespace heed
