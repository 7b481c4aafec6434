#include "models/bahdanau.h"

#include "nn/maxout_readout.h"

namespace heed {

namespace {

/// Appendix B.1: orthogonal recurrent matrices, W_a and U_a of deviation 0.001, v_a and biases zero, all
/// others of deviation 0.01.
template <class T>
void declare(ParameterSet<T>& p, const BahdanauConfig& config) {
  const RecurrentSizes encoder = config.encoder(), decoder = config.decoder();
  const std::int64_t m = config.d_embedding, n = encoder.d_hidden, s = decoder.d_hidden, l = config.d_maxout;
  Declaration<T> add(p, config, Init::normal(0.01), 0.1);
  add.words("encoder", config.source_vocab_size);
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i)
    add.bidirectional("encoder/layer_" + std::to_string(i), encoder, i == 0 ? m : 2 * n);
  add.linear("decoder/initial", n, decoder.state_width());
  add.words("decoder", config.target_vocab_size);
  add.recurrent("decoder/layer_0/state", decoder, m);
  add.gate_input("decoder/layer_0/state", "context", decoder, 2 * n);
  add_attention(
      p, "decoder/layer_0/cross_attention", config.attends(), {s, 2 * n, config.d_align},
      [&](const NamedShape& parameter) {
        if (parameter.name == "query/bias") return Init::zeros();
        if (!add.as_in_paper()) return add.init(parameter.shape);
        return parameter.shape.size() == 1 ? Init::zeros() : Init::normal(0.001);
      },
      config.align_bias);
  add.maxout_readout("decoder/readout", s, 2 * n, l);
  add.matrix("decoder/output/weight", l, config.target_vocab_size);
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
      h = bidirectional(layer, config.encoder(), h, rows).h;
      h = layer.name("output", drop_out(h, layer.dropout(config.dropout)), rows);
    }
    return {last == config.n_encoder_layers ? encoder.name("output", h, rows) : h, &rows, {}};
  }
};

/// A hypothesis is its state s.
template <class T>
class BahdanauDecoder final : public RecurrentDecoder<T, BahdanauConfig> {
 public:
  using RecurrentDecoder<T, BahdanauConfig>::RecurrentDecoder;

  /// s_0 = tanh(W_s h_1 + b), h_1 of the backward layer.
  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    keep_memory(prepare_memory(cross_attention_scope(pass, 0), BahdanauConfig::attends(), memory->states,
                               *memory->rows),
                state);
    const std::int64_t n = this->config_.d_hidden;
    std::vector<RowOf> first_rows;
    for (std::int64_t s = 0; s < sentences; ++s) first_rows.push_back({0, memory->rows->offset(s)});
    state.rows = {
        initial_state(pass, select_rows<T>({pass.tape->columns(memory->states, n, n)}, first_rows))};
    return state;
  }

  /// The recurrence of appendix A.1.2 and the readout of A.2.2.
  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const BahdanauConfig& config = this->config_;
    const Reading<T> reading(pass, state, rows);
    const Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
    const StepOrder order(rows, Direction::forward, pass.continuation);
    AttendingLayer<T> f(layer, config.decoder(), BahdanauConfig::attends(), kept_memory(state), order.rows());
    const bool reads_previous = kReadoutStates(config.readout_state) == ReadoutState::previous;
    const std::vector<Var<T>> steps = read_step_by_step<T>(
        state, order, rows, f.recurrence().input(embedded, order, rows),
        [&](Var<T> input, const std::vector<Var<T>>& before, const StepRows& at) {
          const auto step = f(input, before[0], at);
          DecoderStep<T> made{{step.state}, {step.attended.context, f.recurrence().hidden(step.state)}};
          if (reads_previous) made.outputs.push_back(f.recurrence().hidden(before[0]));
          return made;
        });
    const Var<T> s_i = layer.name("output", steps[1], rows);
    const Scope<T> readout = decoder / "readout";
    const Var<T> t = maxout_readout(readout, reads_previous ? steps[2] : s_i, embedded,
                                    readout_context(readout, steps[0]), config.dropout);
    return {decoder.name("output", t, rows), {}};
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const BahdanauConfig& config) {
  return recurrent_pair<T, BahdanauEncoder, BahdanauDecoder>(config, declare<T>);
}

template std::unique_ptr<Model<float>> build(const BahdanauConfig&);
template std::unique_ptr<Model<double>> build(const BahdanauConfig&);

}  // namespace heed
