#include "models/bahdanau_stepper.h"

#include "base/error.h"
#include "models/bahdanau_decoder.h"
#include "nn/maxout_readout.h"

namespace heed {

namespace {

template <class T>
std::vector<T> copy_of(Var<T> dense) {
  return {dense.value().data, dense.value().data + dense.value().size()};
}

}  // namespace

template <class T>
BahdanauStepper<T>::BahdanauStepper(const Bahdanau<T>& model, const Encoded<T>& memory,
                                    const Editor<T>* editor)
    : model_(model), source_rows_(*memory.rows) {
  pass_.tape = &tape_;
  pass_.parameters = &model.parameters();
  pass_.editor = editor;
  Var<T> h = tape_.constant(memory.states.value());
  const Annotations<T> source = annotate(pass_, h, source_rows_);
  h_ = copy_of(source.h);
  u_a_h_ = copy_of(source.u_a_h);
  states_ = copy_of(initial_state(pass_, model.config(), h, source_rows_));
  for (std::int64_t s = 0; s < source_rows_.sentences(); ++s) sentences_.push_back(s);
}

template <class T>
Matrix<const T> BahdanauStepper<T>::step(std::span<const std::int32_t> tokens,
                                         std::span<const std::int64_t> parents) {
  const BahdanauConfig& config = model_.config();
  const std::int64_t n = static_cast<std::int64_t>(tokens.size()), rows = source_rows_.rows();
  const std::int64_t width = config.decoder().state_width();
  tape_.reset();
  const auto before = static_cast<std::int64_t>(sentences_.size());
  std::vector<RowOf> origin;
  std::vector<std::int64_t> sentences;
  for (std::int64_t parent : parents) {
    if (parent < 0 || parent >= before) fail("step: continues ", parent, " of ", before, " hypotheses");
    origin.push_back({0, parent});
    sentences.push_back(sentences_[static_cast<std::size_t>(parent)]);
  }
  Var<T> s_prev = select_rows<T>({tape_.constant({states_.data(), before, width})}, origin);
  sentences_ = std::move(sentences);
  const StepRows step_rows{sentences_, steps_++, nullptr, false, {}};
  const AtStep<T> at(pass_, step_rows);

  const Annotations<T> source{tape_.constant({h_.data(), rows, model_.d_model()}),
                              tape_.constant({u_a_h_.data(), rows, config.d_align}), &source_rows_};
  BahdanauSteps<T> f(pass_, config, source, n);
  PackedTokens words;
  words.append(tokens);
  Var<T> embedded = model_.embed(pass_, Side::target, words);
  const auto step = f(f.input(embedded, step_rows), s_prev, step_rows);
  states_ = copy_of(step.s);
  Scope<T> decoder = Scope<T>(pass_) / "decoder", readout = decoder / "readout";
  Var<T> s = (decoder / "layer_0").name("output", f.hidden(step.s));
  if (config.readout_state == "previous") s = f.hidden(s_prev);
  Var<T> t = maxout_readout(readout, s, embedded, readout_context(readout, step.c), 0);
  return model_.logits(pass_, decoder.name("output", t)).value();
}

template class BahdanauStepper<float>;
template class BahdanauStepper<double>;

}  // namespace heed
