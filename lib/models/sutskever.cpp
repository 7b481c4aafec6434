#include "models/sutskever.h"

#include "base/check.h"
#include "models/hypothesis_states.h"
#include "nn/recurrent_stack.h"

namespace heed {

namespace {

/// A hypothesis is its states, one for each layer.
template <class T>
class SutskeverStepper final : public Stepper<T> {
 public:
  SutskeverStepper(const Sutskever<T>& model, const Encoded<T>& memory, const Editor<T>* editor)
      : model_(model), sentences_(memory.rows->sentences()) {
    pass_.tape = &tape_;
    pass_.parameters = &model.parameters();
    pass_.editor = editor;
    states_.keep(memory.final_states);
  }
  Matrix<const T> step(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) override {
    tape_.reset();
    std::vector<Var<T>> states = states_.take(tape_, parents);
    const AtStep<T> at(pass_, sentences_.next(parents));
    PackedTokens words;
    words.append(tokens);
    Var<T> h = recurrent_stack_step(Scope<T>(pass_) / "decoder", model_.config().state(),
                                    model_.embed(pass_, Side::target, words), states);
    states_.keep(states);
    h = (Scope<T>(pass_) / "decoder").name("output", h);
    return model_.logits(pass_, h).value();
  }

 private:
  const Sutskever<T>& model_;
  Tape<T> tape_;
  Pass<T> pass_;
  HypothesisStates<T> states_;
  HypothesisSentences sentences_;
};

}  // namespace

void SutskeverConfig::check() const {
  check_recurrent(*this);
  check_size("n_layers", n_layers, 1'000);
}

/// First values: section 3.4 (everything uniform in +-0.08), or Glorot's with orthogonal recurrent matrices.
template <class T>
Sutskever<T>::Sutskever(const SutskeverConfig& c) : RecurrentModel<T, SutskeverConfig>(c) {
  ParameterSet<T>& p = this->parameters_;
  const bool paper = c.init == "paper";
  const Init uniform = Init::uniform(0.08);
  auto table = [&](const std::string& side, std::int64_t words) {
    p.add(side + "/embedding/weight", {words, c.d_embedding}, paper ? uniform : Init::normal(kWordDeviation));
  };
  auto cell = [&](std::int64_t d_in) {
    return paper ? RecurrentInit{uniform, uniform, uniform}
                 : RecurrentInit{Init::xavier(d_in, c.d_hidden), Init::orthogonal(), Init::zeros()};
  };
  table("encoder", c.source_vocab_size);
  add_recurrent_stack(p, "encoder", c.encoder(), c.n_layers, c.d_embedding, cell);
  table("decoder", c.target_vocab_size);
  add_recurrent_stack(p, "decoder", c.state(), c.n_layers, c.d_embedding, cell);
  p.add("decoder/output/weight", {c.d_hidden, c.target_vocab_size},
        paper ? uniform : Init::xavier(c.d_hidden, c.target_vocab_size));
}

template <class T>
Encoded<T> Sutskever<T>::encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                                std::int64_t last) const {
  this->expect_layers(first, last);
  const SutskeverConfig& c = this->config_;
  Scope<T> encoder = Scope<T>(pass) / "encoder";
  const Direction direction = c.reverse_source ? Direction::backward : Direction::forward;
  const StackOutput<T> stack =
      recurrent_stack(encoder, c.encoder(), first, last, input.states, *input.rows, direction, c.dropout);
  Encoded<T> output{stack.h, input.rows, input.final_states};
  for (std::int64_t l = first; l < last; ++l) {
    output.final_states.push_back(name_final(layer_scope(encoder, l), this->final_widths(),
                                             stack.last[static_cast<std::size_t>(l - first)]));
  }
  if (last == c.n_layers) output.states = encoder.name("output", output.states, *input.rows);
  return output;
}

template <class T>
Var<T> Sutskever<T>::decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const {
  this->expect_same_sentences(memory, target);
  const SutskeverConfig& c = this->config_;
  Scope<T> decoder = Scope<T>(pass) / "decoder";
  Var<T> words = this->embed(pass, Side::target, {shifted_right(target), target.rows});
  const StackOutput<T> stack = recurrent_stack(decoder, c.state(), 0, c.n_layers, words, target.rows,
                                               Direction::forward, c.dropout, memory.final_states);
  return decoder.name("output", stack.h, target.rows);
}

template <class T>
std::unique_ptr<Stepper<T>> Sutskever<T>::stepper(const Encoded<T>& memory, const Editor<T>* editor) const {
  return std::make_unique<SutskeverStepper<T>>(*this, memory, editor);
}

template class Sutskever<float>;
template class Sutskever<double>;

}  // namespace heed
