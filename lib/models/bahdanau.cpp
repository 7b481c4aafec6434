#include "models/bahdanau.h"

#include "base/check.h"
#include "base/error.h"
#include "models/bahdanau_decoder.h"
#include "models/bahdanau_stepper.h"
#include "nn/maxout_readout.h"

namespace heed {

void BahdanauConfig::check() const {
  check_recurrent(*this);
  check_size("n_encoder_layers", n_encoder_layers, 1'000);
  if (d_decoder != 0) check_size("d_decoder", d_decoder, 65'536);
  check_size("d_align", d_align, 65'536);
  check_size("d_maxout", d_maxout, 65'536);
}

template <class T>
Bahdanau<T>::Bahdanau(const BahdanauConfig& config) : RecurrentModel<T, BahdanauConfig>(config) {
  declare_parameters();
}

/// First values: appendix B.1 (orthogonal recurrent matrices, W_a and U_a of deviation 0.001, v_a and biases
/// zero, all others of deviation 0.01), or Glorot's.
template <class T>
void Bahdanau<T>::declare_parameters() {
  ParameterSet<T>& p = this->parameters_;
  const RecurrentSizes encoder = config_.encoder(), decoder = config_.decoder();
  const std::int64_t m = config_.d_embedding, n = encoder.d_hidden, s = decoder.d_hidden;
  const std::int64_t a = config_.d_align, l = config_.d_maxout;
  const bool paper = config_.init == "paper";
  auto init = [&](std::int64_t d_in, std::int64_t d_out, double deviation) {
    return paper ? Init::normal(deviation) : Init::xavier(d_in, d_out);
  };
  auto matrix = [&](const std::string& name, std::int64_t d_in, std::int64_t d_out, double deviation = 0.01) {
    p.add(name, {d_in, d_out}, init(d_in, d_out, deviation));
  };
  const RecurrentInit cell{init(m, n, 0.01), Init::orthogonal(), Init::zeros()};

  p.add("encoder/embedding/weight", {config_.source_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  for (std::int64_t i = 0; i < config_.n_encoder_layers; ++i) {
    const std::string layer = "encoder/layer_" + std::to_string(i);
    const std::int64_t d_in = i == 0 ? m : 2 * n;
    for (const char* direction : {"/forward", "/backward"})
      add_recurrent(p, layer + direction, encoder, d_in, {init(d_in, n, 0.01), cell.recurrent, cell.bias});
  }

  matrix("decoder/initial/weight", n, decoder.state_width());
  p.add("decoder/initial/bias", {decoder.state_width()}, Init::zeros());
  p.add("decoder/embedding/weight", {config_.target_vocab_size, m}, Init::normal(paper ? 0.01 : 0.1));
  add_recurrent(p, "decoder/layer_0/state", decoder, m, {init(m, s, 0.01), cell.recurrent, cell.bias});
  add_gate_input(p, "decoder/layer_0/state", "context", decoder, 2 * n, init(2 * n, s, 0.01));

  add_attention(
      p, "decoder/layer_0/cross_attention", config_.attends(), {s, 2 * n, a},
      [&](const NamedShape& parameter) {
        const Shape& shape = parameter.shape;
        if (parameter.name == "query/bias") return Init::zeros();
        if (shape.size() == 1) return paper ? Init::zeros() : Init::xavier(shape[0], 1);
        return init(shape[0], shape[1], 0.001);
      },
      config_.align_bias);

  add_maxout_readout(p, "decoder/readout", {s, m, 2 * n, l},
                     [&](std::int64_t d_in, std::int64_t d_out) { return init(d_in, d_out, 0.01); });
  matrix("decoder/output/weight", l, config_.target_vocab_size);
}

/// Section 3.2: h_j = [forward h_j ; backward h_j].
template <class T>
Encoded<T> Bahdanau<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                               std::int64_t last) const {
  this->expect_layers(first, last);
  Scope<T> encoder = Scope<T>(pass) / "encoder";
  const Packing& rows = *input.rows;
  Var<T> h = input.states;
  for (std::int64_t i = first; i < last; ++i) {
    Scope<T> layer = layer_scope(encoder, i);
    Var<T> forward = recurrent(layer / "forward", config_.encoder(), h, rows, Direction::forward).h;
    Var<T> backward = recurrent(layer / "backward", config_.encoder(), h, rows, Direction::backward).h;
    h = drop_out(side_by_side(forward, backward), encoder.dropout(config_.dropout));
    h = layer.name("output", h, rows);
  }
  return {last == config_.n_encoder_layers ? encoder.name("output", h, rows) : h, &rows, {}};
}

template <class T>
Var<T> Bahdanau<T>::decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const {
  const Packing& source_rows = *memory.rows;
  this->expect_same_sentences(memory, target);
  Tape<T>& tape = *pass.tape;
  const StepOrder order(target.rows);
  const Annotations<T> source = annotate(pass, memory.states, source_rows);
  BahdanauSteps<T> f(pass, config_, source, order.rows());
  Var<T> embedded = this->embed(pass, Side::target, {shifted_right(target), target.rows});  // E y_(i-1)
  Var<T> input = f.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(target.rows));
  Var<T> s =
      select_rows<T>({initial_state(pass, config_, memory.states, source_rows)}, order.to_first_step());

  std::vector<Var<T>> c, s_before, s_after;
  for (std::int64_t i = 0; i < order.steps(); ++i) {
    s = tape.row_range(s, 0, order.active(i));
    s_before.push_back(f.hidden(s));
    const auto step =
        f(tape.row_range(input, order.first(i), order.active(i)), s, order.rows_of(i, target.rows));
    s = step.s;
    s_after.push_back(f.hidden(s));
    c.push_back(step.c);
  }
  Scope<T> decoder = Scope<T>(pass) / "decoder", layer = decoder / "layer_0";
  Var<T> context = select_rows(c, order.to_packed());
  Var<T> state = layer.name("output", select_rows(s_after, order.to_packed()), target.rows);
  if (config_.readout_state == "previous") state = select_rows(s_before, order.to_packed());
  Scope<T> readout = decoder / "readout";
  Var<T> t = maxout_readout(readout, state, embedded, readout_context(readout, context), config_.dropout);
  return decoder.name("output", t, target.rows);
}

template <class T>
std::unique_ptr<Stepper<T>> Bahdanau<T>::stepper(const Encoded<T>& memory, const Editor<T>* editor) const {
  return std::make_unique<BahdanauStepper<T>>(*this, memory, editor);
}

template class Bahdanau<float>;
template class Bahdanau<double>;

}  // namespace heed
