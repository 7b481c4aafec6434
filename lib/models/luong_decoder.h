// The decoder of Luong et al., shared by the whole-sentence pass and the step-by-step decoder: attention,
// which works on the states of any number of steps at once, and the step that input feeding needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "base/error.h"
#include "models/luong.h"

namespace heed {

/// What the decoder needs of the source sentences.
template <class T>
struct LuongSource {
  Var<T> h;    ///< h_s [source rows, k]
  Var<T> key;  ///< what a state is compared with, the same in all steps [source rows, k or d_align]; for
               ///< score = location h_s, which nobody looks at
  const Packing* rows = nullptr;
};

template <class T>
Scope<T> cross_attention_scope(Pass<T>& pass, const LuongConfig& config) {
  return layer_scope(Scope<T>(pass) / "decoder", config.n_layers - 1) / "cross_attention";
}

/// The halves of W_a [2 k, d_align], which reads [s_t; h_s] (section 3.1, concat).
enum class ConcatHalf { state, source };
template <class T>
Var<T> concat_half(const Scope<T>& align, ConcatHalf half) {
  Var<T> w_a = align.parameter("concat/weight");
  const std::int64_t k = w_a.rows() / 2;
  return align.tape().row_range(w_a, half == ConcatHalf::state ? 0 : k, k);
}

template <class T>
LuongSource<T> compare_with(Pass<T>& pass, const LuongConfig& config, Var<T> h, const Packing& rows) {
  if (config.score == "location" && rows.longest() > config.max_source_positions) {
    fail("a source sentence of ", rows.longest(), " tokens: score location was made for at most ",
         config.max_source_positions, " (max_source_positions)");
  }
  const Scope<T> align = cross_attention_scope(pass, config);
  Var<T> key = h;
  if (config.score == "general") key = linear(h, pass.tape->transposed(align.parameter("score/weight")), {});
  if (config.score == "concat") key = linear(h, concat_half(align, ConcatHalf::source), {});
  if (config.score == "additive") key = linear(h, align.parameter("key/weight"), {});
  return {h, key, &rows};
}

/// Whose states are attended from: row i of the states is step times[i] of sentence sentences[i].
struct Asking {
  std::span<const std::int64_t> sentences, times;
};

/// What one call of the attention computed, a row for each state.
template <class T>
struct Attended {
  Var<T> query;            ///< what the keys are compared with
  Var<T> scores, weights;  ///< [n, longest source]
  Var<T> position;         ///< local-p: p_t [n, 1]
  Var<T> context;          ///< c_t [n, k]
  Var<T> attentional;      ///< h~_t [n, d]
};

/// Sections 3.1 and 3.2.
template <class T>
class LuongAttention {
 public:
  /// `rows`: how many rows all calls together have.
  LuongAttention(Pass<T>& pass, const LuongConfig& config, const LuongSource<T>& source, std::int64_t rows)
      : config_(config), source_(source), align_(cross_attention_scope(pass, config)) {
    const Scope<T> attentional = Scope<T>(pass) / "decoder" / "attentional";
    w_context_.emplace(attentional.parameter("context/weight"), rows);
    w_state_.emplace(attentional.parameter("state/weight"), rows);
    if (config.score == "concat") w_a_.emplace(concat_half(align_, ConcatHalf::state), rows);
    if (config.score == "location") w_a_.emplace(align_.parameter("score/weight"), rows);
    if (config.score == "additive") w_a_.emplace(align_.parameter("query/weight"), rows);
    if (config.attention == "local-p") w_p_.emplace(align_.parameter("position/query/weight"), rows);
  }

  /// s: states s_t [n, k].
  Attended<T> operator()(Var<T> s, const Asking& asking) {
    StepKeys at{asking.sentences, source_.rows};
    Attended<T> result;
    if (config_.attention == "local-p") {
      const Var<T> inner = activate(Activation::tanh, (*w_p_)(s));  // [n, d_align]
      result.position = predicted_positions(inner, align_.parameter("position/score/weight"), at);  // eq. 9
    }
    const std::vector<KeyWindow> windows = this->windows(asking, result.position);
    at.windows = windows;
    result.query = config_.score == "additive" ? (*w_a_)(s) : s;
    result.scores = score(s, result.query, at);  // [n, longest source]
    result.weights = softmax(result.scores);     // eq. 7
    if (result.position)
      result.weights = favour_near(result.weights, result.position, config_.window, at);  // eq. 10
    result.context = weighted_sum(result.weights, source_.h, at);                         // [n, k]
    const Var<T> w_c = (*w_context_)(result.context, (*w_state_)(s));                     // W_c [c_t; s_t]
    result.attentional = activate(Activation::tanh, w_c);                                 // eq. 5: [n, d]
    return result;
  }

 private:
  /// The score functions of section 3.1: [n, longest source].
  Var<T> score(Var<T> s, Var<T> query, const StepKeys& at) {
    if (config_.score == "location") return location_scores((*w_a_)(s), at);  // eq. 8
    if (config_.score == "additive")
      return additive_scores(query, source_.key, align_.parameter("score/weight"), at);
    if (config_.score == "concat")
      return additive_scores((*w_a_)(s), source_.key, align_.parameter("score/weight"), at);
    return dot_scores(s, source_.key, at);
  }

  /// Section 3.2: [p_t - D, p_t + D], as far as the sentence goes; empty: all of it.
  std::vector<KeyWindow> windows(const Asking& asking, Var<T> position) const {
    std::vector<KeyWindow> windows;
    if (config_.attention == "global") return windows;
    for (std::size_t i = 0; i < asking.sentences.size(); ++i) {
      const double p = position ? static_cast<double>(position.value()(static_cast<std::int64_t>(i), 0))
                                : static_cast<double>(asking.times[i]);  // local-m: p_t = t
      windows.push_back(window_around(p, config_.window, source_.rows->length(asking.sentences[i])));
    }
    return windows;
  }

  const LuongConfig& config_;
  const LuongSource<T>& source_;
  Scope<T> align_;
  std::optional<StepLinear<T>> w_context_, w_state_, w_a_, w_p_;
};

/// The decoder step by step.
template <class T>
class LuongSteps {
 public:
  /// `rows`: how many rows all steps together have.
  LuongSteps(Pass<T>& pass, const LuongConfig& config, const LuongSource<T>& source, std::int64_t rows)
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
    Attended<T> attended;
  };
  /// What the lowest layer gets from the words: W E y_(t-1) + b for the rows of any number of steps.
  Var<T> input(Var<T> embedded) const { return layers_.front().input(embedded); }
  /// `fed`: h~_(t-1) [n, d], none at the first step.
  Step operator()(Var<T> input, const std::vector<Var<T>>& before, Var<T> fed, const Asking& asking) {
    Step step;
    Var<T> x = input;
    if (fed && feed_) x = (*feed_)(fed, x);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (l > 0) x = input_from_below(l, up(step.states.back(), l - 1));
      step.states.push_back(layers_[l].step(x, before[l]));
    }
    step.attended = attention_(up(step.states.back(), layers_.size() - 1), asking);
    return step;
  }
  /// h of a state of layer l.
  Var<T> hidden(Var<T> state, std::size_t l) const { return layers_[l].hidden(state); }

 private:
  /// What layer l > 0 gets from the state h of the layer below. The gradient of W is taken once for all
  /// steps, unless each step's product must be normalised.
  Var<T> input_from_below(std::size_t l, Var<T> h) {
    return config_.layer_norm ? layers_[l].input(h) : between_[l - 1](h);
  }
  /// What a layer hands up.
  Var<T> up(Var<T> state, std::size_t l) const {
    return drop_out(layers_[l].hidden(state), decoder_.dropout(config_.dropout));
  }

  const LuongConfig& config_;
  Scope<T> decoder_;
  LuongAttention<T> attention_;
  std::vector<RecurrentSteps<T>> layers_;
  std::vector<StepLinear<T>> between_;
  std::optional<StepLinear<T>> feed_;
};

}  // namespace heed
