#include "models/sutskever.h"

namespace heed {

namespace {

/// Section 3.4: everything uniform in +-0.08.
template <class T>
void declare(ParameterSet<T>& p, const SutskeverConfig& c) {
  Declaration<T> add(p, c, Init::uniform(0.08));
  add.words("encoder", c.source_vocab_size);
  add.stack("encoder", c.encoder(), c.n_layers);
  add.words("decoder", c.target_vocab_size);
  add.stack("decoder", c.state(), c.n_layers);
  add.matrix("decoder/output/weight", c.d_hidden, c.target_vocab_size);
}

template <class T>
class SutskeverEncoder final : public RecurrentEncoder<T, SutskeverConfig> {
 public:
  using RecurrentEncoder<T, SutskeverConfig>::RecurrentEncoder;

  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override {
    this->expect_layers(first, last);
    const SutskeverConfig& c = this->config_;
    const Scope<T> encoder = Scope<T>(pass) / "encoder";
    const Direction direction = c.reverse_source ? Direction::backward : Direction::forward;
    const StackOutput<T> stack =
        recurrent_stack(encoder, c.encoder(), first, last, input.states, *input.rows, direction, c.dropout);
    Encoded<T> output{stack.h, input.rows, input.final_states};
    for (std::int64_t l = first; l < last; ++l) {
      output.final_states.push_back(name_final(layer_scope(encoder, l), this->sizes().final_states,
                                               stack.last[static_cast<std::size_t>(l - first)]));
    }
    if (last == c.n_layers) output.states = encoder.name("output", output.states, *input.rows);
    return output;
  }
};

/// A hypothesis is its states, one for each layer.
template <class T>
class SutskeverDecoder final : public RecurrentDecoder<T, SutskeverConfig> {
 public:
  using RecurrentDecoder<T, SutskeverConfig>::RecurrentDecoder;

  DecoderState<T> start(Pass<T>&, std::int64_t sentences, const Encoded<T>* memory) const override {
    DecoderState<T> state(sentences);
    state.rows = memory->final_states;
    return state;
  }

  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                  const Packing& rows) const override {
    const SutskeverConfig& c = this->config_;
    const Reading<T> reading(pass, state, rows);
    const Scope<T> decoder = Scope<T>(pass) / "decoder";
    const StackOutput<T> stack = recurrent_stack(decoder, c.state(), 0, c.n_layers, embedded, rows,
                                                 Direction::forward, c.dropout, state.rows);
    state.rows = stack.last;
    return {decoder.name("output", stack.h, rows), {}};
  }
};

}  // namespace

template <class T>
std::unique_ptr<Model<T>> build(const SutskeverConfig& config) {
  return recurrent_pair<T, SutskeverEncoder, SutskeverDecoder>(config, declare<T>);
}

template std::unique_ptr<Model<float>> build(const SutskeverConfig&);
template std::unique_ptr<Model<double>> build(const SutskeverConfig&);

}  // namespace heed
