// One step of RNNsearch's decoder, shared by the whole-sentence pass and the step-by-step decoder.
#pragma once

#include "autograd/ops.h"
#include "models/bahdanau.h"

namespace heed {

/// What the decoder needs of the source sentences.
template <class T>
struct Annotations {
  Var<T> h;      ///< [source rows, 2 n]
  Var<T> u_a_h;  ///< U_a h_j, the same in all steps: computed once [source rows, n']
  const Packing* rows = nullptr;
};

template <class T>
Annotations<T> annotate(Pass<T>& pass, Var<T> h, const Packing& rows) {
  Scope<T> align = Scope<T>(pass) / "decoder" / "layer_0" / "cross_attention";
  Var<T> bias = align.has("query/bias") ? align.parameter("query/bias") : Var<T>();
  return {h, linear(h, align.parameter("key/weight"), bias), &rows};
}

/// s_0 = tanh(W_s h_1 + b), h_1 of the backward layer: [sentences, state width].
template <class T>
Var<T> initial_state(Pass<T>& pass, const BahdanauConfig& config, const Annotations<T>& source) {
  const std::int64_t n = config.d_hidden;
  std::vector<RowOf> first_rows;
  for (std::int64_t s = 0; s < source.rows->sentences(); ++s)
    first_rows.push_back({0, source.rows->offset(s)});
  Var<T> h_1 = select_rows<T>({pass.tape->columns(source.h, n, n)}, first_rows);
  Scope<T> scope = Scope<T>(pass) / "decoder" / "initial";
  return linear(h_1, scope.parameter("weight"), scope.parameter("bias"), Activation::tanh);
}

/// The recurrence of appendix A.1.2 and A.2.2, step by step.
template <class T>
class BahdanauSteps {
 public:
  /// `rows`: how many rows all steps together have.
  BahdanauSteps(Pass<T>& pass, const BahdanauConfig& config, const Annotations<T>& source, std::int64_t rows)
      : layer_(Scope<T>(pass) / "decoder" / "layer_0"),
        align_(layer_ / "cross_attention"),
        source_(source),
        state_(layer_ / "state", config.decoder(), rows),
        w_a_(align_.parameter("query/weight"), rows),
        c_((layer_ / "state" / "context").stacked(config.decoder().gates(), "weight"), rows) {}

  struct Step {
    Var<T> w_a_s;     ///< W_a s_(i-1) [n, n']
    Var<T> e, alpha;  ///< [n, longest source]
    Var<T> c;         ///< [n, 2 n]
    Var<T> s;         ///< the new state
  };
  /// What f gets from the words: W E y_(i-1) + b for the rows of any number of steps.
  Var<T> input(Var<T> embedded) const { return state_.input(embedded); }
  /// Row i belongs to sentence sentences[i].
  Step operator()(Var<T> input, Var<T> s_prev, std::span<const std::int64_t> sentences) {
    const StepKeys at{sentences, source_.rows};
    Step step;
    step.w_a_s = w_a_(state_.hidden(s_prev));
    step.e = additive_scores(step.w_a_s, source_.u_a_h, align_.parameter("score/weight"), at);  // A.1.2
    step.alpha = softmax(step.e);                                                               // eq. 6
    step.c = weighted_sum(step.alpha, source_.h, at);                                           // eq. 5
    step.s = state_.step(c_(step.c, input), s_prev);                                            // A.1.1
    return step;
  }
  Var<T> hidden(Var<T> state) const { return state_.hidden(state); }

 private:
  Scope<T> layer_, align_;
  const Annotations<T>& source_;
  RecurrentSteps<T> state_;
  StepLinear<T> w_a_, c_;
};

}  // namespace heed
