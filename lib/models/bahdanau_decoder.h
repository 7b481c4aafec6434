// One step of RNNsearch's decoder, shared by the whole-sentence pass and the step-by-step decoder.
#pragma once

#include "autograd/ops.h"
#include "models/bahdanau.h"

namespace heed {

/// s_0 = tanh(W_s h_1 + b), h_1 of the backward layer: [sentences, state width].
template <class T>
Var<T> initial_state(Pass<T>& pass, const BahdanauConfig& config, Var<T> h, const Packing& rows) {
  const std::int64_t n = config.d_hidden;
  std::vector<RowOf> first_rows;
  for (std::int64_t s = 0; s < rows.sentences(); ++s) first_rows.push_back({0, rows.offset(s)});
  Var<T> h_1 = select_rows<T>({pass.tape->columns(h, n, n)}, first_rows);
  Scope<T> scope = Scope<T>(pass) / "decoder" / "initial";
  Var<T> s_0 = linear(h_1, scope.parameter("weight"), scope.parameter("bias"), Activation::tanh);
  return scope.name_sentences("output", s_0);
}

/// The recurrence of appendix A.1.2 and A.2.2, step by step.
template <class T>
class BahdanauSteps {
 public:
  /// `rows`: how many rows all steps together have.
  BahdanauSteps(Pass<T>& pass, const BahdanauConfig& config, const AttentionMemory<T>& source,
                std::int64_t rows)
      : layer_(Scope<T>(pass) / "decoder" / "layer_0"),
        state_(layer_ / "state", config.decoder(), rows),
        attention_(layer_ / "cross_attention", BahdanauConfig::attends(), source, rows),
        c_((layer_ / "state" / "context").stacked(config.decoder().gates(), "weight"), rows) {}

  struct Step {
    Var<T> c;  ///< [n, 2 n]
    Var<T> s;  ///< the new state
  };
  /// What f gets from the words: W E y_(i-1) + b for the rows of any number of steps.
  Var<T> input(Var<T> embedded, const StepRows& rows) const {
    const AtStep<T> at_step(layer_.pass(), rows);
    return state_.input(embedded);
  }
  Step operator()(Var<T> input, Var<T> s_prev, const StepRows& rows) {
    const AtStep<T> at_step(layer_.pass(), rows);
    const Var<T> c = attention_(state_.hidden(s_prev), rows).context;  // eq. 5, 6 [n, 2 n]
    return {c, state_.step(c_(c, input), s_prev)};                     // A.1.1
  }
  Var<T> hidden(Var<T> state) const { return state_.hidden(state); }

 private:
  Scope<T> layer_;
  RecurrentSteps<T> state_;
  StepAttention<T> attention_;
  StepLinear<T> c_;
};

}  // namespace heed
