#include "nn/attention/hard_attention_loss.h"

#include "base/instantiate.h"

#include <cmath>

namespace heed {

namespace {

/// Calls visit(step, row within the step, sentence) for all rows.
template <class T, class Visit>
void each_row(const StepWeights<T>& weights, Visit&& visit) {
  for (std::int64_t t = 0; t < weights.order.steps(); ++t) {
    const std::span<const std::int64_t> sentences = weights.order.sentences(t);
    for (std::size_t i = 0; i < sentences.size(); ++i)
      visit(static_cast<std::size_t>(t), static_cast<std::int64_t>(i), sentences[i]);
  }
}

/// Where derivatives by the weights of one step go; no data: nowhere.
template <class T>
std::vector<Matrix<T>> gradients_of(const StepWeights<T>& weights) {
  std::vector<Matrix<T>> gradients;
  for (const Var<T>& alpha : weights.alpha) {
    Tape<T>& tape = alpha.tape();
    gradients.push_back(tape.wants_gradient(alpha) ? tape.gradient(alpha) : Matrix<T>());
  }
  return gradients;
}

}  // namespace

template <class T>
double doubly_stochastic_penalty(const StepWeights<T>& weights, double scale) {
  std::vector<double> sums(static_cast<std::size_t>(weights.keys.rows()));
  auto sum_of = [&](std::int64_t sentence, std::int64_t key) -> double& {
    return sums[static_cast<std::size_t>(weights.keys.offset(sentence) + key)];
  };
  each_row(weights, [&](std::size_t t, std::int64_t i, std::int64_t sentence) {
    for (std::int64_t j = 0; j < weights.keys.length(sentence); ++j)
      sum_of(sentence, j) += static_cast<double>(weights.alpha[t].value()(i, j));
  });
  double total = 0;
  for (double sum : sums) total += (1 - sum) * (1 - sum);
  const std::vector<Matrix<T>> d_alpha = gradients_of(weights);
  each_row(weights, [&](std::size_t t, std::int64_t i, std::int64_t sentence) {
    if (!d_alpha[t].data) return;
    for (std::int64_t j = 0; j < weights.keys.length(sentence); ++j)
      d_alpha[t](i, j) -= static_cast<T>(2 * scale * (1 - sum_of(sentence, j)));
  });
  return total;
}

template <class T>
double attention_entropy(const StepWeights<T>& weights, double scale) {
  double total = 0;
  const std::vector<Matrix<T>> d_alpha = gradients_of(weights);
  each_row(weights, [&](std::size_t t, std::int64_t i, std::int64_t sentence) {
    for (std::int64_t j = 0; j < weights.keys.length(sentence); ++j) {
      const auto p = static_cast<double>(weights.alpha[t].value()(i, j));
      if (p <= 0) continue;  // p log p = 0
      total -= p * std::log(p);
      if (d_alpha[t].data) d_alpha[t](i, j) -= static_cast<T>(scale * (std::log(p) + 1));
    }
  });
  return total;
}

template <class T>
void reinforce_drawn(const StepWeights<T>& weights, std::span<const double> nll, double baseline,
                     double scale) {
  std::vector<double> gain(static_cast<std::size_t>(weights.queries.sentences()));
  for (std::int64_t s = 0; s < weights.queries.sentences(); ++s) {
    for (std::int64_t row = weights.queries.offset(s); row < weights.queries.offset(s + 1); ++row)
      gain[static_cast<std::size_t>(s)] -= nll[static_cast<std::size_t>(row)] + baseline;
  }
  const std::vector<Matrix<T>> d_alpha = gradients_of(weights);
  each_row(weights, [&](std::size_t t, std::int64_t i, std::int64_t sentence) {
    const std::int64_t key = weights.chosen[t][static_cast<std::size_t>(i)];
    if (key == kExpected || !d_alpha[t].data) return;
    const auto p = static_cast<double>(weights.alpha[t].value()(i, key));
    d_alpha[t](i, key) += static_cast<T>(scale * gain[static_cast<std::size_t>(sentence)] / p);
  });
}

HEED_INSTANTIATE(doubly_stochastic_penalty)
HEED_INSTANTIATE(attention_entropy)
HEED_INSTANTIATE(reinforce_drawn)

}  // namespace heed
