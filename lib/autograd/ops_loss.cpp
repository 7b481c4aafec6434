#include <algorithm>
#include <cmath>
#include <type_traits>

#include "autograd/ops.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "tensor/bfloat16_loss.h"
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

/// Both losses. `consistency` 0: rows are no pairs.
template <class T>
CrossEntropySums projected_loss(Var<T> states, Var<T> weight, bool tied,
                                std::span<const std::int32_t> targets, double smoothing, double consistency,
                                T scale, std::vector<double>* nll, Var<T> bias) {
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
  const std::int64_t parts = consistency > 0 ? 2 : 1, part_rows = n / parts;
  std::int64_t done = 0;  // rows whose logits never exist as a whole, as neither pairs nor nll need them
  if constexpr (std::is_same_v<T, float>) {
    if (gradient && parts == 1 && !nll && tape.precision() == Precision::bfloat16) {
      done = bfloat16_loss({states.value(), w, biases, targets, smoothing, scale, states_beta != 0, d_states,
                            d_weight, d_bias},
                           tape.arena(), sums);
      if (done == n) return sums;
    }
  }
  // A block holds rows that follow one another, or as many of either half.
  const std::int64_t block_rows = std::min(part_rows, kLossBlockRows / parts);
  Matrix<T> block = tape.arena().template matrix<T>(parts * block_rows, vocabulary), divergence;
  if (consistency > 0 && gradient) divergence = tape.arena().template matrix<T>(block.rows, vocabulary);
  std::vector<std::int32_t> block_targets;
  for (std::int64_t first = done; first < part_rows; first += block_rows) {
    const std::int64_t count = std::min(block_rows, part_rows - first);
    Matrix<T> logits = block.row_range(0, parts * count);
    block_targets.clear();
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t from = part * part_rows + first;
      gemm<T>(tape.precision(), states.value().row_range(from, count), w, biases,
              logits.row_range(part * count, count));
      block_targets.insert(block_targets.end(), targets.begin() + from, targets.begin() + from + count);
    }
    if (nll) append_nll<T>(logits, block_targets, *nll);
    const Matrix<T> extra = divergence.data ? divergence.row_range(0, logits.rows) : Matrix<T>();
    if (consistency > 0) {
      const auto half = [&](Matrix<T> of, std::int64_t part) {
        return of.data ? of.row_range(part * count, count) : of;
      };
      sums.loss +=
          consistency / 2 *
          divergence_rows<T>(half(logits, 0), half(logits, 1), scale * static_cast<T>(consistency / 2),
                             half(extra, 0), half(extra, 1));
    }
    cross_entropy_rows<T>(logits, block_targets, smoothing, scale, gradient, sums);
    if (!gradient) continue;
    // The block now holds d loss / d logits.
    for (std::int64_t i = 0; extra.data && i < extra.rows; ++i)
      add_to<T>(row_span(extra, i), row_span(logits, i));
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t from = part * part_rows + first;
      const Matrix<T> own = logits.row_range(part * count, count);
      gemm<T>(tape.precision(), own, w.t(), states_beta, d_states.row_range(from, count));
      if (d_weight.data)
        gemm<T>(tape.precision(), states.value().row_range(from, count).t(), own, 1, d_weight);
    }
    if (!d_bias.empty()) sum_rows<T>(logits, d_bias);
  }
  return sums;
}
}  // namespace

template <class T>
CrossEntropySums projected_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                         std::span<const std::int32_t> targets, double smoothing, T scale,
                                         std::vector<double>* nll, Var<T> bias) {
  return projected_loss(states, weight, tied, targets, smoothing, 0, scale, nll, bias);
}

template <class T>
CrossEntropySums consistent_cross_entropy(Var<T> states, Var<T> weight, bool tied,
                                          std::span<const std::int32_t> targets, double smoothing,
                                          double consistency, T scale, Var<T> bias) {
  if (states.rows() % 2 != 0) fail("cross-entropy: ", states.rows(), " rows are no pairs");
  return projected_loss<T>(states, weight, tied, targets, smoothing, consistency, scale, nullptr, bias);
}

template <class T>
CrossEntropySums cross_entropy(Var<T> logits, std::span<const std::int32_t> targets, double smoothing,
                               T scale) {
  Tape<T>& tape = logits.tape();
  if (logits.rows() != static_cast<std::int64_t>(targets.size()))
    fail("cross-entropy: ", logits.rows(), " rows of logits for ", targets.size(), " targets");
  expect_known(targets, logits.cols());
  const Matrix<T> block = tape.arena().template matrix<T>(logits.rows(), logits.cols());
  copy_rows(logits.value(), block);
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
HEED_INSTANTIATE(consistent_cross_entropy)

}  // namespace heed
