#include "models/cho.h"

#include "nn/maxout_readout.h"

namespace heed {

namespace {

/// Computed by the decoder from c, the same at each step of a sentence.
template <class T>
struct FromSummary {
  Var<T> first_state;  ///< h'_0 [sentences, state width]
  Var<T> gates;        ///< C c [sentences, gates * n]
  Var<T> readout;      ///< O_c c [sentences, 2 l]
};

template <class T>
FromSummary<T> read_summary(Pass<T>& pass, const ChoConfig& config, Var<T> last_state) {
  const Scope<T> root(pass), decoder = root / "decoder", v = root / "encoder" / "summary";
  Var<T> h_n = pass.tape->columns(last_state, 0, config.d_hidden);
  Var<T> c =
      v.name_sentences("output", linear(h_n, v.parameter("weight"), v.parameter("bias"), Activation::tanh));
  const Scope<T> context = decoder / "layer_0" / "state" / "context";
  return {initial_state(pass, c), linear(c, context.stacked(config.decoder().gates(), "weight"), Var<T>()),
          readout_context(decoder / "readout", c)};
}

/// G_r t: the states before the softmax layer [n, m].
template <class T>
Var<T> readout(Pass<T>& pass, Var<T> h, Var<T> embedded, Var<T> from_c, double dropout) {
  Scope<T> scope = Scope<T>(pass) / "decoder" / "readout";
  Var<T> t = maxout_readout(scope, h, embedded, from_c, dropout);
  return linear(t, (scope / "projection").parameter("weight"), Var<T>());
}

/// Packed rows that each take the row of their sentence.
std::vector<RowOf> sentence_of_each_row(const Packing& rows) {
  std::vector<RowOf> list;
  for (std::int64_t s = 0; s < rows.sentences(); ++s)
    list.insert(list.end(), static_cast<std::size_t>(rows.length(s)), {0, s});
  return list;
}

/// Section 4.1: deviation 0.01, orthogonal recurrent matrices.
template <class T>
void declare(ParameterSet<T>& p, const ChoConfig& config) {
  const std::int64_t m = config.d_embedding, n = config.d_hidden, l = config.d_maxout;
  Declaration<T> add(p, config, Init::normal(0.01));
  add.words("encoder", config.source_vocab_size);
  add.recurrent("encoder/layer_0/state", config.encoder(), m);
  add.linear("encoder/summary", n, n);
  add.linear("decoder/initial", n, config.decoder().state_width());
  add.words("decoder", config.target_vocab_size);
  add.recurrent("decoder/layer_0/state", config.decoder(), m);
  add.gate_input("decoder/layer_0/state", "context", config.decoder(), n);
  add.maxout_readout("decoder/readout", n, n, l);
  add.matrix("decoder/readout/projection/weight", l, m);
  add.matrix("decoder/output/weight", m, config.target_vocab_size);
}

template <class T>
class ChoEncoder final : public RecurrentEncoder<T, ChoConfig> {
 public:
  using RecurrentEncoder<T, ChoConfig>::RecurrentEncoder;

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    if (first == last) return input;
    const ChoConfig& config = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    const RecurrentOutput<T> states =
        recurrent(encoder / "layer_0" / "state", config.encoder(), input.states, *input.rows,
                  config.reverse_source ? Direction::backward : Direction::forward);
    return {encoder.name("output", states.h, *input.rows),
            input.rows,
            {name_final(encoder / "layer_0", this->sizes().final_states, states.last)}};
  }
};

/// A hypothesis is its state and the values computed from its sentence's c.
template <class T>
class ChoDecoder final : public RecurrentDecoder<T, ChoConfig> {
 public:
  using RecurrentDecoder<T, ChoConfig>::RecurrentDecoder;

  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    const FromSummary<T> c = read_summary(pass, this->config_, memory->final_states.at(0));
    state.rows = {c.first_state, c.gates, c.readout};
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const ChoConfig& config = this->config_;
    const Reading<T> reading(pass, state, rows);
    const Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
    const FromSummary<T> c{state.rows[0], state.rows[1], state.rows[2]};
    const std::vector<RowOf> each_row = sentence_of_each_row(rows);
    const RecurrentOutput<T> states =
        recurrent(layer / "state", config.decoder(), embedded, rows, Direction::forward, c.first_state,
                  select_rows<T>({c.gates}, each_row));
    state.rows[0] = states.last;
    Var<T> h = layer.name("output", states.h, rows);
    Var<T> t = readout(pass, h, embedded, select_rows<T>({c.readout}, each_row), config.dropout);
    return {decoder.name("output", t, rows), {}};
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const ChoConfig& config) {
  return recurrent_pair<T, ChoEncoder, ChoDecoder>(config, declare<T>);
}

template std::unique_ptr<Model<float>> build(const ChoConfig&);
template std::unique_ptr<Model<double>> build(const ChoConfig&);

}  // namespace heed
