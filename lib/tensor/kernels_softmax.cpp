// Softmax over the rows of a matrix, with the cross-entropy loss and top-k that build on it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_softmax.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/logits.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// Logits are processed in blocks that fit the L1 cache, so that a row of a large vocabulary is read
/// from memory once.
inline constexpr Index kBlock = 1024;

/// The sum of exp(x - max) over a row, with max.
template <class T>
struct RowSum {
  T max = kMinusInfinity<T>;
  T sum = 0;

  T log_sum_exp() const { return sum > 0 ? max + std::log(sum) : (sum == 0 ? max : sum); }
};

/// sum of exp(x - max); stores each exp(x - max) over x when `keep`.
template <class T, bool keep, class P>
HWY_INLINE T sum_exp(P* x, Index n, T max) {
  Vec<T> sum0 = set(T{0}), sum1 = sum0;
  const Vec<T> shift = set(max);
  const Whole<T> all;
  Index i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {  // two at a time hide the latency of exp
    const Vec<T> e0 = exp_of_negative<T>(all.load(x + i) - shift),
                 e1 = exp_of_negative<T>(all.load(x + i + kLanes<T>) - shift);
    if constexpr (keep) {
      all.store(e0, x + i);
      all.store(e1, x + i + kLanes<T>);
    }
    sum0 = sum0 + e0;
    sum1 = sum1 + e1;
  }
  for_vectors<T>(n - i, [&](Index j, auto part) HWY_ATTR {
    const Vec<T> e = exp_of_negative<T>(part.load(x + i + j) - shift);
    if constexpr (keep) part.store(e, x + i + j);
    sum0 = sum0 + part.only(e, 0);
  });
  return sum_of_lanes<T>(sum0 + sum1);
}

template <class T>
HWY_INLINE T sum_of_row(const T* x, Index n) {
  Vec<T> sum = set(T{0});
  for_vectors<T>(n, [&](Index i, auto part) HWY_ATTR { sum = sum + part.load(x + i); });
  return sum_of_lanes<T>(sum);
}

/// A block x of a row, of which `max` is the largest: updates `row` and, when `keep`, replaces x by exp(x - row.max) with
/// the max so far.
template <class T, bool keep, class P>
HWY_INLINE void sum_block(P* x, Index count, T max, RowSum<T>& row) {
  if (max > row.max) {
    row.sum *= std::exp(row.max - max);
    row.max = max;
  }
  row.sum += sum_exp<T, keep>(x, count, row.max == kMinusInfinity<T> ? T{0} : row.max);
}

template <class T>
HWY_INLINE RowSum<T> sum_row(const T* x, Index n) {
  RowSum<T> row;
  for (Index first = 0; first < n; first += kBlock) {
    const Index count = std::min(kBlock, n - first);
    sum_block<T, false>(x + first, count, max_of_row<T>(x + first, count), row);
  }
  return row;
}

}  // namespace

template <class T>
void softmax_rows(Matrix<T> x) {
  for (Index i = 0; i < x.rows; ++i) softmax_row(x.row(i), x.cols);
}

template <class T>
void log_sum_exp_rows(Matrix<const T> x, std::span<T> result) {
  for (Index i = 0; i < x.rows; ++i) result[i] = sum_row(x.row(i), x.cols).log_sum_exp();
}

template <class T>
void cross_entropy_rows(Matrix<T> logits, std::span<const std::int32_t> targets, double smoothing, T scale,
                        bool gradient, CrossEntropySums& sums) {
  const Index classes = logits.cols;
  const double share = smoothing / static_cast<double>(classes);
  std::vector<T> block_max((classes + kBlock - 1) / kBlock);
  for (Index i = 0; i < logits.rows; ++i) {
    T* x = logits.row(i);
    const Index target = targets[i];
    const double target_logit = x[target];
    RowSum<T> row;
    Index best = 0;  // the first of the largest
    T total = 0;     // of the logits themselves
    for (Index first = 0; first < classes; first += kBlock) {
      const Index count = std::min(kBlock, classes - first);
      total += sum_of_row<T>(x + first, count);
      const T max = max_of_row<T>(x + first, count);
      if (max > row.max) best = std::find(x + first, x + first + count, max) - x;
      if (gradient)
        sum_block<T, true>(x + first, count, max, row);
      else
        sum_block<T, false>(x + first, count, max, row);
      block_max[first / kBlock] = row.max;
    }
    const double log_sum = static_cast<double>(row.max) + std::log(static_cast<double>(row.sum));
    const double nll = log_sum - target_logit;
    sums.nll += nll;
    sums.loss += (1 - smoothing) * nll + (smoothing == 0 ? 0 : smoothing * log_sum - share * total);
    sums.correct += best == target;
    if (!gradient) continue;
    // d loss / d x = softmax(x) - smoothing / V - (1 - smoothing) [target]
    const Vec<T> uniform = set(static_cast<T>(scale * share));
    for (Index first = 0; first < classes; first += kBlock) {
      const Vec<T> factor = set(scale * std::exp(block_max[first / kBlock] - row.max) / row.sum);
      for_vectors<T>(std::min(kBlock, classes - first), [&](Index j, auto part) HWY_ATTR {
        part.store(hn::MulSub(part.load(x + first + j), factor, uniform), x + first + j);
      });
    }
    x[target] -= static_cast<T>(scale * (1 - smoothing));
  }
}

template <class T>
double divergence_rows(Matrix<const T> x, Matrix<const T> y, T scale, Matrix<T> d_x, Matrix<T> d_y) {
  double total = 0;
  const Vec<T> factor = set(scale), one = set(T{1});
  for (Index i = 0; i < x.rows; ++i) {
    const T *a = x.row(i), *b = y.row(i);
    const Vec<T> a_sum = set(sum_row(a, x.cols).log_sum_exp()), b_sum = set(sum_row(b, x.cols).log_sum_exp());
    Vec<T> sum_p = set(T{0}), sum_q = sum_p;
    for_vectors<T>(x.cols, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> log_p = part.load(a + j) - a_sum, log_q = part.load(b + j) - b_sum;
      const Vec<T> p = exp_of_negative<T>(log_p), q = exp_of_negative<T>(log_q);
      sum_p = sum_p + part.only(p * (log_p - log_q), 0);
      sum_q = sum_q + part.only(q * (log_q - log_p), 0);
      if (!d_x.data) return;
      part.store(p, d_x.row(i) + j);
      part.store(q, d_y.row(i) + j);
    });
    const T p_to_q = sum_of_lanes<T>(sum_p), q_to_p = sum_of_lanes<T>(sum_q);
    total += p_to_q + q_to_p;
    if (!d_x.data) continue;
    // J = KL(p||q) + KL(q||p) = sum (p - q)(log p - log q);
    // dJ / d x = p (log p - log q - KL(p||q)) + p - q, and likewise of y.
    const Vec<T> p_shift = one - set(p_to_q), q_shift = one - set(q_to_p);
    for_vectors<T>(x.cols, [&](Index j, auto part) HWY_ATTR {
      const Vec<T> p = part.load(d_x.row(i) + j), q = part.load(d_y.row(i) + j),
                   ratio = (part.load(a + j) - a_sum) - (part.load(b + j) - b_sum);
      part.store(factor * (p * (p_shift + ratio) - q), d_x.row(i) + j);
      part.store(factor * (q * (q_shift - ratio) - p), d_y.row(i) + j);
    });
  }
  return total;
}

namespace {

/// The k best of a row so far, best first; equal values keep the order of their columns.
template <class T>
class TopK {
 public:
  TopK(T* values, std::int32_t* columns, Index k) : values_(values), columns_(columns), k_(k) {}

  /// The columns from `first` on; returns the largest. Once there are k, runs of columns are skipped when none exceeds
  /// the k-th best.
  HWY_INLINE T take_block(const T* x, Index n, Index first) {
    constexpr Index run = 4 * kLanes<T>;
    const Whole<T> all;
    T largest = kMinusInfinity<T>;
    auto take_one = [&](Index c) {
      largest = std::max(largest, x[c]);
      take(x[c], first + c);
    };
    Index j = 0;
    if (size_ == 0) open_at(value_below_k(x, n));
    for (; j < n && size_ < k_; ++j) take_one(j);
    Vec<T> largest_of_runs = set(kMinusInfinity<T>);
    for (; j + run <= n; j += run) {
      const Vec<T> high = hn::Max(hn::Max(all.load(x + j), all.load(x + j + kLanes<T>)),
                                  hn::Max(all.load(x + j + 2 * kLanes<T>), all.load(x + j + 3 * kLanes<T>)));
      largest_of_runs = hn::Max(largest_of_runs, high);
      if (hn::AllFalse(Tag<T>(), high > set(values_[k_ - 1]))) continue;
      for (Index v = j; v < j + run; v += kLanes<T>) {
        const auto start = hn::FindFirstTrue(Tag<T>(), all.load(x + v) > set(values_[k_ - 1]));
        for (Index c = v + start; start >= 0 && c < v + kLanes<T>; ++c) take(x[c], first + c);
      }
    }
    for (; j < n; ++j) take_one(j);
    return std::max(largest, max_of_lanes<T>(largest_of_runs));
  }

 private:
  /// A value that at least k of x exceed: just below the k-th largest of the lanes' maxima. -infinity: none is known.
  HWY_INLINE T value_below_k(const T* x, Index n) const {
    if (k_ > kLanes<T> || n < kLanes<T>) return kMinusInfinity<T>;
    const Whole<T> all;
    Vec<T> of_lanes = all.load(x);
    for (Index j = kLanes<T>; j + kLanes<T> <= n; j += kLanes<T>)
      of_lanes = hn::Max(of_lanes, all.load(x + j));
    T value = max_of_lanes<T>(of_lanes);
    for (Index i = 1; i < k_; ++i) {
      of_lanes = hn::IfThenElse(of_lanes == set(value), set(kMinusInfinity<T>), of_lanes);
      value = max_of_lanes<T>(of_lanes);
    }
    return std::nextafter(value, kMinusInfinity<T>);
  }
  /// Fills the list with a value that at least k of the coming ones exceed, so that few enter it on the way.
  void open_at(T value) {
    if (!(value > kMinusInfinity<T>)) return;
    std::fill_n(values_, k_, value);
    std::fill_n(columns_, k_, 0);
    size_ = k_;
  }

  void take(T value, Index column) {
    if (size_ == k_ && !(value > values_[k_ - 1])) return;
    Index slot = size_ == k_ ? k_ - 1 : size_++;
    for (; slot > 0 && value > values_[slot - 1]; --slot) {
      values_[slot] = values_[slot - 1];
      columns_[slot] = columns_[slot - 1];
    }
    values_[slot] = value;
    columns_[slot] = static_cast<std::int32_t>(column);
  }

  T* values_;
  std::int32_t* columns_;
  Index k_, size_ = 0;
};

/// A row's k best, and its sum, from which their log-probabilities are computed.
template <class T>
struct BestOfRow {
  TopK<T> best;
  RowSum<T> sum = {};

  HWY_INLINE void take(const T* x, Index count, Index first) {
    sum_block<T, false>(x, count, best.take_block(x, count, first), sum);
  }
  void finish(std::span<T> values) const {
    const T log_sum = std::log(sum.sum);
    for (T& value : values) value = (value - sum.max) - log_sum;  // large logits cancel exactly
  }
};

/// A row's k best as they are; or NaN, as their log-probabilities would be, if NaN or +infinity is among its values.
template <class T>
struct BestUnscored {
  TopK<T> best;
  bool numbers = true;

  HWY_INLINE void take(const T* x, Index count, Index first) {
    best.take_block(x, count, first);
    const Vec<T> infinity = set(std::numeric_limits<T>::infinity());
    auto below = set(T{0}) < infinity;
    for_vectors<T>(count, [&](Index j, auto part) HWY_ATTR {
      below = hn::And(below, part.load(x + j) < infinity);  // false for NaN
    });
    numbers = numbers && hn::AllTrue(Tag<T>(), below);
  }
  void finish(std::span<T> values) const {
    if (!numbers) std::ranges::fill(values, std::numeric_limits<T>::quiet_NaN());
  }
};

template <class T>
TopK<T> top_of_row(Matrix<T> values, Matrix<std::int32_t> indices, Index i, Index k) {
  return {values.row(i), indices.row(i), k};
}

/// Best: BestOfRow or BestUnscored.
template <template <class> class Best, class T>
void best_of_product(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Index k,
                     Matrix<T> values, Matrix<std::int32_t> indices) {
  static_assert(kBlock % kPanelColumns<T> == 0);
  constexpr Index most = 96;  // rows whose block of logits stays in the L2 cache
  if (a.rows > most) {
    const Index half = a.rows / 2, rest = a.rows - half;
    best_of_product<Best, T>(a.row_range(0, half), b, bias, k, values, indices);
    return best_of_product<Best, T>(a.row_range(half, rest), b, bias, k, values.row_range(half, rest),
                                    indices.row_range(half, rest));
  }
  static thread_local std::vector<T> block;
  const Index stride = spread_stride(kBlock);
  block.resize(static_cast<std::size_t>(a.rows * stride));
  std::vector<Best<T>> rows;
  rows.reserve(static_cast<std::size_t>(a.rows));
  for (Index i = 0; i < a.rows; ++i) rows.push_back({top_of_row(values, indices, i, k)});
  for (Index first = 0; first < b.cols; first += kBlock) {
    const Index count = std::min(kBlock, b.cols - first);
    const Matrix<T> logits(block.data(), a.rows, count, stride);
    const std::span<const T> part =
        bias.empty() ? bias : bias.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    multiply_packed<T>(a, b.columns(first, count), part, Activation::none, logits);
    for (Index i = 0; i < a.rows; ++i) rows[i].take(logits.row(i), count, first);
  }
  for (Index i = 0; i < a.rows; ++i) rows[i].finish(row_span(values, i).first(k));
}

}  // namespace

template <class T>
void log_softmax_top_k(Matrix<const T> x, Index k, Matrix<T> values, Matrix<std::int32_t> indices) {
  for (Index i = 0; i < x.rows; ++i) {
    BestOfRow<T> row{top_of_row(values, indices, i, k)};
    for (Index first = 0; first < x.cols; first += kBlock)
      row.take(x.row(i) + first, std::min(kBlock, x.cols - first), first);
    row.finish(row_span(values, i).first(k));
  }
}

template <class T>
void packed_top_k(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Index k,
                  Matrix<T> values, Matrix<std::int32_t> indices) {
  best_of_product<BestOfRow, T>(a, b, bias, k, values, indices);
}

template <class T>
void packed_top_logits(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, Index k,
                       Matrix<T> values, Matrix<std::int32_t> indices) {
  best_of_product<BestUnscored, T>(a, b, bias, k, values, indices);
}

HEED_TARGET_KERNEL(softmax_rows)
HEED_TARGET_KERNEL(log_sum_exp_rows)
HEED_TARGET_KERNEL(cross_entropy_rows)
HEED_TARGET_KERNEL(divergence_rows)
HEED_TARGET_KERNEL(log_softmax_top_k)
HEED_TARGET_KERNEL(packed_top_k)
HEED_TARGET_KERNEL(packed_top_logits)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_EXPORT_KERNEL(log_softmax_top_k)
HEED_EXPORT_KERNEL(packed_top_k)
HEED_EXPORT_KERNEL(packed_top_logits)

HEED_KERNEL(void, softmax_rows, (Matrix<T> x), (x))
HEED_KERNEL(void, log_sum_exp_rows, (Matrix<const T> x, std::span<T> result), (x, result))
HEED_KERNEL(void, cross_entropy_rows,
            (Matrix<T> logits, std::span<const std::int32_t> targets, double smoothing, T scale,
             bool gradient, CrossEntropySums& sums),
            (logits, targets, smoothing, scale, gradient, sums))
HEED_KERNEL(double, divergence_rows,
            (Matrix<const T> x, Matrix<const T> y, T scale, Matrix<T> d_x, Matrix<T> d_y),
            (x, y, scale, d_x, d_y))

namespace {

void expect_enough(std::int64_t k, std::int64_t classes) {
  if (k < 1 || k > classes)
    fail("the ", k, " best of ", classes, " classes: wanted between 1 and all of them");
}

void expect_fit(std::int64_t k, std::int64_t classes, std::int64_t bias) {
  expect_enough(k, classes);
  if (bias != 0 && bias != classes) fail("a bias of ", bias, " for ", classes, " classes");
}

}  // namespace

template <class T>
void log_softmax_top_k(Matrix<const T> x, std::int64_t k, Matrix<T> values, Matrix<std::int32_t> indices) {
  expect_enough(k, x.cols);
  HEED_DISPATCH(log_softmax_top_k)(x, k, values, indices);
}
template <class T>
void log_softmax_top_k(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, std::int64_t k,
                       Matrix<T> values, Matrix<std::int32_t> indices) {
  expect_fit(k, b.cols, std::ssize(bias));
  HEED_DISPATCH(packed_top_k)(a, b, bias, k, values, indices);
}
template <class T>
void top_logits(Matrix<const T> a, const PackedMatrix<T>& b, std::span<const T> bias, std::int64_t k,
                Matrix<T> values, Matrix<std::int32_t> indices) {
  expect_fit(k, b.cols, std::ssize(bias));
  HEED_DISPATCH(packed_top_logits)(a, b, bias, k, values, indices);
}

#define HEED_INSTANTIATE_TOP_K(T)                                                                            \
  template void log_softmax_top_k(Matrix<const T>, std::int64_t, Matrix<T>, Matrix<std::int32_t>);           \
  template void log_softmax_top_k(Matrix<const T>, const PackedMatrix<T>&, std::span<const T>, std::int64_t, \
                                  Matrix<T>, Matrix<std::int32_t>);                                          \
  template void top_logits(Matrix<const T>, const PackedMatrix<T>&, std::span<const T>, std::int64_t,        \
                           Matrix<T>, Matrix<std::int32_t>);
HEED_INSTANTIATE_TOP_K(float)
HEED_INSTANTIATE_TOP_K(double)
#undef HEED_INSTANTIATE_TOP_K

}  // namespace heed
#endif
