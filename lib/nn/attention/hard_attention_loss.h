// The contribution of attention weights to the loss besides the cross-entropy of the words (Xu et al. 2015):
// values and derivatives, over the weights of all decoder steps.
#pragma once

#include <span>
#include <vector>

#include "nn/attention/choice.h"
#include "nn/step_order.h"

namespace heed {

/// The weights of a decoder's steps: alpha[t] [n, longest source] has a row for each sentence that is active
/// at step t in `order`.
template <class T>
struct StepWeights {
  std::vector<Var<T>> alpha;
  std::vector<std::vector<std::int64_t>> chosen;  ///< the sampled positions, or kExpected; empty: none
  StepOrder order;
  Packing queries, keys;
};

/// sum over sentences and their source positions i of (1 - sum_t alpha_ti)^2, eq. 14. Adds `scale` times its
/// derivatives to the weights' gradients when the tape takes gradients.
template <class T>
double doubly_stochastic_penalty(const StepWeights<T>& weights, double scale);

/// The sum of the entropies of all steps' weights, H[s]; adds `scale` times its derivatives.
template <class T>
double attention_entropy(const StepWeights<T>& weights, double scale);

/// Adds `scale` times the sum over sentences of (log p(y) - b) d log p(s), s the drawn positions, to the
/// weights' gradients. nll [query rows]: -log p of each target word; b is `baseline` for each of them.
template <class T>
void reinforce_drawn(const StepWeights<T>& weights, std::span<const double> nll, double baseline,
                     double scale);

}  // namespace heed
