// The decoder of Luong et al., shared by the whole-sentence pass and the step-by-step decoder: attention,
// which works on the states of any number of steps at once, and the step that input feeding needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "base/sentence_error.h"
#include "models/luong.h"
#include "nn/attention/step_attention.h"

namespace heed {

template <class T>
Scope<T> cross_attention_scope(Pass<T>& pass, const LuongConfig& config) {
  return layer_scope(Scope<T>(pass) / "decoder", config.n_layers - 1) / "cross_attention";
}

/// Throws Error unless the location score has a column for every source position.
inline void expect_known_positions(const LuongConfig& config, const Packing& source) {
  if (!config.attends().score->knows_positions()) return;
  for (std::int64_t s = 0; s < source.sentences(); ++s) {
    if (source.length(s) > config.max_source_positions)
      throw SentenceError(
          s, concat("a source sentence of ", source.length(s), " tokens: score ", config.score,
                    " was made for at most ", config.max_source_positions, " (max_source_positions)"));
  }
}

/// Sections 3.1 and 3.2.
template <class T>
class LuongAttention {
 public:
  /// `rows`: how many rows all calls together have.
  LuongAttention(Pass<T>& pass, const LuongConfig& config, const AttentionMemory<T>& source,
                 std::int64_t rows)
      : attentional_(Scope<T>(pass) / "decoder" / "attentional"),
        attention_(cross_attention_scope(pass, config), config.attends(), source, rows),
        w_context_(attentional_.parameter("context/weight"), rows),
        w_state_(attentional_.parameter("state/weight"), rows) {}

  /// s: states s_t [n, k] -> h~_t [n, d].
  Var<T> operator()(Var<T> s, const StepRows& rows) {
    const AtStep<T> at_step(attentional_.pass(), rows);
    const Var<T> context = attention_(s, rows).context;                   // c_t [n, k]
    const Var<T> w_c = w_context_(context, w_state_(s));                  // W_c [c_t; s_t]
    return attentional_.name("output", activate(Activation::tanh, w_c));  // eq. 5: [n, d]
  }

 private:
  Scope<T> attentional_;
  StepAttention<T> attention_;
  StepLinear<T> w_context_, w_state_;
};

/// The decoder step by step.
template <class T>
class LuongSteps {
 public:
  /// `rows`: how many rows all steps together have.
  LuongSteps(Pass<T>& pass, const LuongConfig& config, const AttentionMemory<T>& source, std::int64_t rows)
      : config_(config), decoder_(Scope<T>(pass) / "decoder"), attention_(pass, config, source, rows) {
    const std::vector<std::string> gates = config.decoder().gates();
    for (std::int64_t l = 0; l < config.n_layers; ++l) {
      const Scope<T> state = layer_scope(decoder_, l) / "state";
      layers_.emplace_back(state, config.decoder(), rows);
      if (l == 0 && config.input_feeding) feed_.emplace((state / "feed").stacked(gates, "weight"), rows);
      if (l > 0) {
        const Scope<T> input = state / "input";
        between_.emplace_back(input.stacked(gates, "weight"), rows, input.stacked(gates, "bias"));
      }
    }
  }

  struct Step {
    std::vector<Var<T>> states;  ///< of each layer
    Var<T> attentional;
  };
  /// The lowest layer's input from the words: W E y_(t-1) + b for the rows of any number of steps.
  Var<T> input(Var<T> embedded, const StepRows& rows) const {
    const AtStep<T> at(decoder_.pass(), rows);
    return layers_.front().input(embedded);
  }
  /// `fed`: h~_(t-1) [n, d], none at the first step.
  Step operator()(Var<T> input, const std::vector<Var<T>>& before, Var<T> fed, const StepRows& rows) {
    const AtStep<T> at(decoder_.pass(), rows);
    Step step;
    Var<T> x = input;
    if (fed && feed_) x = (*feed_)(fed, x);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (l > 0) x = input_from_below(l, up(step.states.back(), l - 1));
      step.states.push_back(layers_[l].step(x, before[l]));
    }
    step.attentional = attention_(up(step.states.back(), layers_.size() - 1), rows);
    return step;
  }

 private:
  /// The input of layer l > 0 from the state h of the layer below. The gradient of W is taken once for all
  /// steps, unless each step's product must be normalised.
  Var<T> input_from_below(std::size_t l, Var<T> h) {
    return config_.layer_norm ? layers_[l].input(h) : between_[l - 1](h);
  }
  /// A layer's output: for the next layer with dropout, for the attention without, because noise in s_t
  /// would spoil every score.
  Var<T> up(Var<T> state, std::size_t l) const {
    const Scope<T> layer = layer_scope(decoder_, static_cast<std::int64_t>(l));
    Var<T> h = layers_[l].hidden(state);
    if (l + 1 < layers_.size()) h = drop_out(h, decoder_.dropout(config_.dropout));
    return layer.name("output", h);
  }

  const LuongConfig& config_;
  Scope<T> decoder_;
  LuongAttention<T> attention_;
  std::vector<RecurrentSteps<T>> layers_;
  std::vector<StepLinear<T>> between_;
  std::optional<StepLinear<T>> feed_;
};

}  // namespace heed
