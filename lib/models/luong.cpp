#include "models/luong.h"

#include "base/check.h"
#include "base/error.h"
#include "models/hypothesis_states.h"
#include "models/luong_decoder.h"
#include "nn/recurrent_stack.h"

namespace heed {

void LuongConfig::check() const {
  check_recurrent(*this);
  check_size("n_layers", n_layers, 1'000);
  if (d_attentional != 0) check_size("d_attentional", d_attentional, 65'536);
  check_size("d_align", d_align, 65'536);
  check_size("max_source_positions", max_source_positions, 1'000'000);
  check_size("window", window, 1'000'000);
  check_probability("output_dropout", output_dropout);
  if (bidirectional && reverse_source) {
    fail<UsageError>("reverse_source: a bidirectional encoder reads both ways already");
  }
}

template <class T>
Luong<T>::Luong(const LuongConfig& config) : RecurrentModel<T, LuongConfig>(config) {
  declare_parameters();
}

/// First values: section 4.1, uniform in +-0.1 throughout; or Glorot's.
template <class T>
void Luong<T>::declare_parameters() {
  ParameterSet<T>& p = this->parameters_;
  const RecurrentSizes encoder = config_.encoder(), decoder = config_.decoder();
  const std::int64_t m = config_.d_embedding, k = decoder.d_hidden, a = config_.d_align,
                     d = config_.attentional_width();
  const bool paper = config_.init == "paper";
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

  p.add("encoder/embedding/weight", {config_.source_vocab_size, m}, words);
  for (std::int64_t l = 0; l < config_.n_layers && config_.bidirectional; ++l) {
    for (const char* part : {"/forward", "/backward"}) {
      const std::int64_t d_in = l == 0 ? m : k;
      add_recurrent(p, "encoder/layer_" + std::to_string(l) + part, encoder, d_in,
                    cell(encoder.d_hidden)(d_in));
    }
  }
  if (!config_.bidirectional)
    add_recurrent_stack<T>(p, "encoder", encoder, config_.n_layers, m, cell(encoder.d_hidden));
  p.add("decoder/embedding/weight", {config_.target_vocab_size, m}, words);
  add_recurrent_stack<T>(p, "decoder", decoder, config_.n_layers, m, cell(k));
  if (config_.input_feeding) add_gate_input(p, "decoder/layer_0/state", "feed", decoder, d, init(d, k));

  const std::string align = "decoder/layer_" + std::to_string(config_.n_layers - 1) + "/cross_attention";
  add_attention(p, align, config_.attends(), {k, k, a, config_.max_source_positions},
                [&](const NamedShape& parameter) {
                  const Shape& shape = parameter.shape;
                  return shape.size() == 1 ? init(shape[0], 1) : init(shape[0], shape[1]);
                });
  const Init w_c = init(2 * k, d);
  p.add("decoder/attentional/context/weight", {k, d}, w_c);
  p.add("decoder/attentional/state/weight", {k, d}, w_c);
  matrix("decoder/output/weight", d, config_.target_vocab_size);
}

namespace {

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

}  // namespace

template <class T>
Var<T> Luong<T>::embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const {
  if (side == Side::source) expect_known_positions(config_, tokens.rows);
  return RecurrentModel<T, LuongConfig>::embed(pass, side, tokens);
}

template <class T>
Encoded<T> Luong<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                            std::int64_t last) const {
  this->expect_layers(first, last);
  const Scope<T> encoder = Scope<T>(pass) / "encoder";
  Encoded<T> x = input;
  for (std::int64_t l = first; l < last; ++l) {
    const Scope<T> layer = layer_scope(encoder, l);
    const RecurrentOutput<T> out = encoder_layer(layer, config_, x.states, *x.rows);
    x.states = layer.name("output", drop_out(out.h, layer.dropout(config_.dropout)), *x.rows);
    x.final_states.push_back(name_final(layer, this->final_widths(), out.last));
  }
  if (last == config_.n_layers) x.states = encoder.name("output", x.states, *x.rows);
  return x;
}

namespace {

/// With input feeding: each step reads h~ of the one before (section 3.3). h~ of the packed words.
template <class T>
Var<T> step_by_step(Pass<T>& pass, const LuongConfig& config, const LuongSource<T>& source,
                    const std::vector<Var<T>>& first_states, Var<T> embedded, const Packing& rows) {
  Tape<T>& tape = *pass.tape;
  const StepOrder order(rows);
  LuongSteps<T> decoder(pass, config, source, order.rows());
  const Var<T> input =
      decoder.input(select_rows<T>({embedded}, order.to_time_order()), order.rows_of_all(rows));
  std::vector<Var<T>> states, attentional;
  for (const Var<T>& state : first_states) states.push_back(select_rows<T>({state}, order.to_first_step()));
  Var<T> fed;
  for (std::int64_t t = 0; t < order.steps(); ++t) {
    const std::int64_t n = order.active(t);
    for (Var<T>& state : states) state = tape.row_range(state, 0, n);
    if (fed) fed = tape.row_range(fed, 0, n);
    const std::vector<std::int64_t> times(static_cast<std::size_t>(n), t);
    const auto step =
        decoder(tape.row_range(input, order.first(t), n), states, fed, {order.sentences(t), times, &rows});
    states = step.states;
    fed = step.attentional;
    attentional.push_back(fed);
  }
  return select_rows(attentional, order.to_packed());
}

/// Without: the recurrence runs through all words before the attention looks at any.
template <class T>
Var<T> all_at_once(Pass<T>& pass, const LuongConfig& config, const LuongSource<T>& source,
                   const std::vector<Var<T>>& first_states, Var<T> embedded, const Packing& rows) {
  const Scope<T> decoder = Scope<T>(pass) / "decoder";
  const auto layers = [&](std::int64_t from, std::int64_t to, Var<T> x, double dropout) {
    const std::vector<Var<T>> first(first_states.begin() + from, first_states.begin() + to);
    return recurrent_stack(decoder, config.decoder(), from, to, x, rows, Direction::forward, dropout, first)
        .h;
  };
  const std::int64_t top = config.n_layers - 1;  // what it says goes to the attention without dropout
  const Var<T> states = layers(top, config.n_layers, layers(0, top, embedded, config.dropout), 0);
  std::vector<std::int64_t> sentences, times;
  for (const Place& place : places_of(rows)) {
    sentences.push_back(place.sentence);
    times.push_back(place.position);
  }
  LuongAttention<T> attention(pass, config, source, rows.rows());
  return attention(states, {sentences, times, &rows});
}

}  // namespace

template <class T>
Var<T> Luong<T>::decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const {
  this->expect_same_sentences(memory, target);
  const Packing& source_rows = *memory.rows;
  const Scope<T> decoder = Scope<T>(pass) / "decoder";
  const LuongSource<T> source = compare_with(pass, config_, memory.states, source_rows);
  const Var<T> embedded = this->embed(pass, Side::target, {shifted_right(target), target.rows});  // E y_(t-1)
  const auto decoded = config_.input_feeding ? step_by_step<T> : all_at_once<T>;
  const Var<T> attentional =
      drop_out(decoded(pass, config_, source, memory.final_states, embedded, target.rows),
               decoder.dropout(config_.output_dropout));
  return decoder.name("output", attentional, target.rows);
}

namespace {

template <class T>
std::vector<T> copy_of(Matrix<const T> dense) {
  return {dense.data, dense.data + dense.size()};
}

/// A hypothesis is its sentence, its layers' states and, behind the first step, h~_t.
template <class T>
class LuongStepper final : public Stepper<T> {
 public:
  LuongStepper(const Luong<T>& model, const Encoded<T>& memory, const Editor<T>* editor)
      : model_(model), source_rows_(*memory.rows), sentences_(source_rows_.sentences()) {
    pass_.tape = &tape_;
    pass_.parameters = &model.parameters();
    pass_.editor = editor;
    const LuongSource<T> source =
        compare_with(pass_, model.config(), tape_.constant(memory.states.value()), source_rows_);
    h_ = copy_of(source.h.value());
    key_ = copy_of(source.key.value());
    states_.keep(memory.final_states);
  }
  Matrix<const T> step(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) override {
    tape_.reset();
    std::vector<Var<T>> states = states_.take(tape_, parents);
    Var<T> fed;
    if (sentences_.steps() > 0) {
      fed = states.back();
      states.pop_back();
    }
    const StepRows step_rows = sentences_.next(parents);
    const AtStep<T> at(pass_, step_rows);
    const std::int64_t rows = source_rows_.rows();
    auto dense = [&](const std::vector<T>& values) {
      return tape_.constant({values.data(), rows, static_cast<std::int64_t>(values.size()) / rows});
    };
    const LuongSource<T> source{dense(h_), dense(key_), &source_rows_};
    LuongSteps<T> decoder(pass_, model_.config(), source, static_cast<std::int64_t>(tokens.size()));
    PackedTokens words;
    words.append(tokens);
    const std::vector<std::int64_t> times(tokens.size(), step_rows.step);
    auto step = decoder(decoder.input(model_.embed(pass_, Side::target, words), step_rows), states, fed,
                        {step_rows.sentences, times});
    step.states.push_back(step.attentional);
    states_.keep(step.states);
    return model_.logits(pass_, (Scope<T>(pass_) / "decoder").name("output", step.attentional)).value();
  }

 private:
  const Luong<T>& model_;
  Packing source_rows_;
  Tape<T> tape_;
  Pass<T> pass_;
  HypothesisStates<T> states_;
  HypothesisSentences sentences_;
  std::vector<T> h_, key_;  ///< of LuongSource
};

}  // namespace

template <class T>
std::unique_ptr<Stepper<T>> Luong<T>::stepper(const Encoded<T>& memory, const Editor<T>* editor) const {
  return std::make_unique<LuongStepper<T>>(*this, memory, editor);
}

template class Luong<float>;
template class Luong<double>;

}  // namespace heed
