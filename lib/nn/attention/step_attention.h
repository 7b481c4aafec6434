// Attention of a recurrent decoder's steps over a memory, the encoder's states: Bahdanau et al. 2015, Luong
// et al. 2015 and Xu et al. 2015 differ in the score, in the window, and in how the weights make the context.
//
//   e_ij = score(q_i, k_j)               nn/attention/score_function.h
//   alpha_i = softmax(e_i)               over the keys within the window (nn/attention/window.h)
//   weights = alpha, or what the window or the hard choice makes of it
//   context_i = beta_i sum_j weights_ij v_j, beta_i = sigmoid(f_beta(state_i)) with a context gate
//               (Xu et al., section 4.2.1), else 1
//
// Parameters below the scope: query/weight [d_q, a], key/weight [d_k, a] and, if any, query/bias [a] of a
// projected score; those of the score; position/{query, score}/weight of local-p; gate/weight [d_q, 1] and
// gate/bias of a context gate. Named values: value (the memory), key and query (what the score compares),
// scores, position of local-p, probabilities (alpha, where weights may be something else), weights, gate,
// context.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/ops_recurrent.h"
#include "nn/attention/choice.h"
#include "nn/attention/score_function.h"
#include "nn/attention/weights.h"
#include "nn/attention/window.h"
#include "nn/scope.h"
#include "tensor/sample_stream.h"

namespace heed {

struct AttentionConfig {
  const ScoreFunction* score;
  Window window = Window::global;
  std::int64_t reach = 0;            ///< D of a local window
  bool hard = false;                 ///< the weights are 1 at one key
  double expected_share = 0;         ///< hard, in training: share of sentences that keep alpha
  bool names_probabilities = false;  ///< also where they equal the weights
};

/// Adds the parameters; `init` gives the initial values of each by its name below the scope and its shape.
template <class T>
void add_attention(ParameterSet<T>& parameters, const std::string& scope, const AttentionConfig& config,
                   const ScoreSizes& sizes, const std::function<Init(const NamedShape&)>& init,
                   bool query_bias = false, bool context_gate = false);

/// What attention needs of the source sentences, computed once.
template <class T>
struct AttentionMemory {
  Var<T> value;  ///< [source rows, d_v]
  Var<T> key;    ///< what a query is compared with [source rows, w]
  const Packing* rows = nullptr;
};
/// `rows` must outlive the pass.
template <class T>
AttentionMemory<T> prepare_memory(const Scope<T>& scope, const AttentionConfig& config, Var<T> states,
                                  const Packing& rows);

template <class T>
class StepAttention {
 public:
  /// `rows`: how many rows all calls together have at most. The score's and the window's parameters are those
  /// below `scope`; so are the gate's, if there is one.
  StepAttention(const Scope<T>& scope, const AttentionConfig& config, const AttentionMemory<T>& memory,
                std::int64_t rows);

  struct Step {
    Var<T> context;                    ///< [n, d_v]
    Var<T> probabilities;              ///< [n, longest source]
    std::vector<std::int64_t> chosen;  ///< of hard attention: the keys, or kExpected
  };
  /// From the decoder's states [n, d_q]. `sampled`: of hard attention outside training, the translation that
  /// each row is part of; without it the choice is the most likely key.
  Step operator()(Var<T> state, const StepRows& rows, const std::vector<SampleStream>& sampled = {});

 private:
  std::vector<KeyWindow> windows(const StepRows& rows, Var<T> position) const;
  std::vector<std::int64_t> choices(Var<T> probabilities, const StepRows& rows,
                                    const std::vector<SampleStream>& sampled);

  Scope<T> scope_;
  AttentionConfig config_;
  AttentionMemory<T> memory_;
  ComparedKeys<T> keys_;
  std::optional<StepLinear<T>> query_, position_, gate_;
  Var<T> weight_;                 ///< of the comparison
  std::optional<Random> random_;  ///< of hard attention in training
  std::vector<bool> expects_;     ///< the sentences that keep alpha
};

}  // namespace heed
