#include <algorithm>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/gemm.h"

namespace heed {

namespace {
/// Rows of logits that exist at a time: enough for an efficient product, few enough to stay in the cache.
constexpr std::int64_t kLossBlockRows = 256;

void expect_known(std::span<const std::int32_t> targets, std::int64_t vocabulary) {
  for (std::int32_t id : targets) {
    if (id < 0 || id >= vocabulary) fail("target id ", id, " is outside the vocabulary of ", vocabulary);
  }
}

/// Appends log sum exp(x) - x[target] of each row x.
template <class T>
void append_nll(Matrix<const T> logits, std::span<const std::int32_t> targets, std::vector<double>& nll) {
  std::vector<T> sums(static_cast<std::size_t>(logits.rows));
  log_sum_exp_rows<T>(logits, sums);
  for (std::size_t i = 0; i < sums.size(); ++i)
    nll.push_back(static_cast<double>(sums[i] - logits(static_cast<std::int64_t>(i), targets[i])));
}
}  // namespace

template <class T>
CrossEntropySums projected_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                         std::span<const std::int32_t> targets, double smoothing, T scale,
                                         std::vector<double>* nll, Var<T> bias) {
  Tape<T>& tape = states.tape();
  const Matrix<const T> w = tied ? weight.value().t() : weight.value();  // [d, V]
  const std::int64_t n = states.rows(), vocabulary = w.cols;
  if (states.cols() != w.rows || n != static_cast<std::int64_t>(targets.size()) ||
      (bias && bias.cols() != vocabulary)) {
    fail("cross-entropy: states [", n, ", ", states.cols(), "] do not fit weight [", w.rows, ", ", w.cols,
         "] or ", targets.size(), " targets");
  }
  expect_known(targets, vocabulary);
  const bool gradient = tape.with_gradients();
  T states_beta = 0;
  Matrix<T> d_states, d_weight;
  std::span<const T> biases;
  std::span<T> d_bias;
  if (bias) biases = row_span(bias.value(), 0);
  if (gradient) {
    d_states = tape.gradient(states, states_beta);
    if (tape.wants_gradient(weight)) d_weight = tied ? tape.gradient(weight).t() : tape.gradient(weight);
    if (tape.wants_gradient(bias)) d_bias = row_span(tape.gradient(bias), 0);
  }
  CrossEntropySums sums;
  Matrix<T> block = tape.arena().template matrix<T>(std::min(n, kLossBlockRows), vocabulary);
  for (std::int64_t first = 0; first < n; first += kLossBlockRows) {
    const std::int64_t count = std::min(kLossBlockRows, n - first);
    Matrix<T> logits = block.row_range(0, count);
    Matrix<const T> x = states.value().row_range(first, count);
    if (bias) broadcast_row<T>(biases, logits);
    gemm<T>(1, x, w, bias ? 1 : 0, logits);
    if (nll) append_nll<T>(logits, targets.subspan(static_cast<std::size_t>(first)), *nll);
    cross_entropy_rows<T>(logits,
                          targets.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                          smoothing, scale, gradient, sums);
    if (!gradient) continue;
    // The block now holds d loss / d logits.
    gemm<T>(1, logits, w.t(), states_beta, d_states.row_range(first, count));
    if (d_weight.data) gemm<T>(1, x.t(), logits, 1, d_weight);
    if (!d_bias.empty()) sum_rows<T>(logits, d_bias);
  }
  return sums;
}

template <class T>
CrossEntropySums cross_entropy(Var<T> logits, std::span<const std::int32_t> targets, double smoothing,
                               T scale) {
  Tape<T>& tape = logits.tape();
  if (logits.rows() != static_cast<std::int64_t>(targets.size()))
    fail("cross-entropy: ", logits.rows(), " rows of logits for ", targets.size(), " targets");
  expect_known(targets, logits.cols());
  const Matrix<T> block = tape.arena().template matrix<T>(logits.rows(), logits.cols());
  for (std::int64_t i = 0; i < block.rows; ++i) std::copy_n(logits.value().row(i), block.cols, block.row(i));
  CrossEntropySums sums;
  cross_entropy_rows<T>(block, targets, smoothing, scale, tape.with_gradients(), sums);
  if (!tape.with_gradients()) return sums;
  const Matrix<T> d_logits = tape.gradient(logits);
  const auto width = static_cast<std::size_t>(block.cols);  // the block now holds d loss / d logits
  for (std::int64_t i = 0; i < block.rows; ++i) add_to<T>({block.row(i), width}, {d_logits.row(i), width});
  return sums;
}

HEED_INSTANTIATE(cross_entropy)
HEED_INSTANTIATE(projected_cross_entropy)

}  // namespace heed
