#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of GCC 12's own intrinsics (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"        // likewise
#endif
#include "tensor/bfloat16_loss.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/bfloat16_tiles.h"
#include "tensor/gemm.h"
#include "tensor/product_count.h"
#include "tensor/simd_level.h"

namespace heed {

#if defined(__x86_64__)
namespace {

#if defined(__clang__)
// clang-format off
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))), apply_to = function)
// clang-format on
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

#define HEED_INLINE __attribute__((always_inline)) inline

using namespace bfloat16;

/// Columns of the vocabulary at a time: whole panels of either kind.
constexpr Index kColumns = 288;
static_assert(kColumns % kPanelRows == 0 && kColumns % kPanelColumns == 0);

/// Rows of states whose powers are kept at a time.
constexpr Index kRows = 512;
constexpr std::uint16_t kOne = 0x3F80;  ///< as bfloat16
/// Of a row's reference above the largest logit of the first block, so that powers are at most 1. e^-30 has all its digits,
/// and so has everything down to e^-57 of that.
constexpr float kMargin = 30;

Index whole(Index n, Index panel) {
  return (n + panel - 1) / panel * panel;
}

/// c += the product of the panels of both factors.
void multiply_panels(const std::uint32_t* a, const std::uint32_t* b, Index groups, Matrix<float> c) {
  // Blocks of a that stay in the second-level cache.
  const Index most = std::max(kPanelRows, kBlockRows * kDepth / 2 / groups / kPanelRows * kPanelRows);
  each_part(c.rows, most, kPanelRows, [&](Index i, Index rows) {
    for (Index j = 0; j < c.cols; j += kPanelColumns) {
      for (Index r = i; r < i + rows; r += kTileRows) {
        const Matrix<float> part = c.row_range(r, std::min<Index>(kTileRows, i + rows - r))
                                       .columns(j, std::min(kPanelColumns, c.cols - j));
        Ahead none;
        tile(InPanel{a + r / kPanelRows * kPanelRows * groups + r % kPanelRows}, b + j * groups, groups, part,
             part, none);
      }
    }
  });
}

/// As a pair of bfloat16 whose sum it is, to twice their digits.
std::uint32_t two_parts(float x) {
  const auto high = std::bit_cast<std::uint32_t>(x) & 0xFFFF0000;
  const float rest = x - std::bit_cast<float>(high);
  return high >> 16 | (std::bit_cast<std::uint32_t>(rest) & 0xFFFF0000);
}

/// What is known of a row of logits, of which one block of columns after the other is seen.
struct Row {
  alignas(64) float sums[kLanes] = {};    ///< together: of exp(logit - reference)
  alignas(64) float totals[kLanes] = {};  ///< together: of the logits
  float reference = 0, target = 0, max = -std::numeric_limits<float>::infinity();
  Index best = 0;  ///< the first of the largest

  float sum() const { return _mm512_reduce_add_ps(_mm512_load_ps(sums)); }
  float total() const { return _mm512_reduce_add_ps(_mm512_load_ps(totals)); }
};

HEED_INLINE __m512 lowest() {
  return _mm512_set1_ps(-std::numeric_limits<float>::infinity());
}

/// 2^x for x <= 0, to 3e-6 of it.
HEED_INLINE __m512 power_of_two(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
               part = _mm512_sub_ps(x, whole);
  __m512 y = _mm512_set1_ps(1.3333558e-3f);
  for (const float c : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
    y = _mm512_fmadd_ps(y, part, _mm512_set1_ps(c));
  return _mm512_scalef_ps(y, whole);
}

class Computation {
 public:
  Computation(const ProjectedLoss& loss, Arena& arena)
      : p_(loss),
        n_(loss.states.rows),
        d_(loss.states.cols),
        classes_(loss.weight.cols),
        pairs_((n_ + 1) / 2),
        groups_(pairs_ + (loss.smoothing > 0)),
        width_(loss.d_weight.col_stride != 1 ? kPanelRows : kPanelColumns),
        rows_(static_cast<std::size_t>(n_)),
        states_(arena.allocate<std::uint32_t>(whole(n_, kPanelRows) * ((d_ + 1) / 2))),
        logits_(arena.matrix<float>(n_, kColumns)),
        powers_(arena.allocate<std::uint16_t>(whole(n_ + 1, kTileRows) * kColumns)),
        weighted_(arena.matrix<float>(n_ + 1, d_)) {
    if (p_.d_weight.data || !p_.d_bias.empty())
      kept_ = arena.allocate<std::uint32_t>(whole(classes_, kColumns) * groups_);
    std::fill_n(powers_ + n_ * kColumns, (whole(n_ + 1, kTileRows) - n_) * kColumns, kOne);
  }

  /// Everything that takes the logits; false if they do not allow it.
  bool forward() {
    pack<kPanelRows>(p_.states.t(), states_);
    for (Index first = 0; first < classes_; first += kColumns) {
      const Index count = std::min(kColumns, classes_ - first);
      project(first, count);
      if (!exponentiate(first, count)) return false;
      take_targets(first, count);
      add_weighted(first, count);
    }
    return true;
  }

  /// What is left: sums and gradients.
  void finish(Arena& arena, CrossEntropySums& sums) const {
    count_product(n_, classes_, d_), count_product(n_, d_, classes_);
    add_sums(sums);
    backward(arena);
  }

 private:
  void add_sums(CrossEntropySums& sums) const {
    const double share = p_.smoothing / static_cast<double>(classes_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const double log_sum = static_cast<double>(row.reference) + std::log(static_cast<double>(row.sum()));
      const double nll = log_sum - static_cast<double>(row.target);
      sums.nll += nll;
      sums.loss +=
          (1 - p_.smoothing) * nll + p_.smoothing * log_sum - share * static_cast<double>(row.total());
      sums.correct += row.best == p_.targets[i];
    }
  }

  // d loss / d logit = scale (exp(logit - reference) / sum - smoothing / V - (1 - smoothing) [target])
  void backward(Arena& arena) const {
    const double share = p_.smoothing / static_cast<double>(classes_);
    const auto uniform = static_cast<float>(p_.scale * share),
               own = static_cast<float>(p_.scale * (1 - p_.smoothing));
    std::vector<float> factors(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) factors[i] = p_.scale / rows_[i].sum();

    const float* const sum_of_weights = weighted_.row(n_);
    for (Index i = 0; i < n_; ++i) {
      const float factor = factors[static_cast<std::size_t>(i)], *const x = weighted_.row(i);
      const Index target = p_.targets[static_cast<std::size_t>(i)];
      for (Index j = 0; j < d_; ++j) {
        float& to = p_.d_states(i, j);
        const float start = p_.adds_to_d_states ? to : 0;
        to = start + factor * x[j] - uniform * sum_of_weights[j] - own * p_.weight(j, target);
      }
    }
    if (p_.d_weight.data) multiply_states(factors, uniform, arena);
    for (Index i = 0; p_.d_weight.data && i < n_; ++i) {
      const Matrix<float> column = p_.d_weight.columns(p_.targets[static_cast<std::size_t>(i)], 1);
      for (Index j = 0; j < d_; ++j) column(j, 0) -= own * p_.states(i, j);
    }
    if (p_.d_bias.empty()) return;
    add_to_bias(factors, uniform * static_cast<float>(n_));
    for (const std::int32_t target : p_.targets) p_.d_bias[static_cast<std::size_t>(target)] -= own;
  }

  /// The logits of `count` classes from `first` on.
  void project(Index first, Index count) {
    alignas(64) std::uint32_t panel[kDepth / 2 * kPanelColumns];
    const Index groups = (d_ + 1) / 2;
    const auto weight = [&](Index j) { return p_.weight.columns(j, std::min(kPanelColumns, classes_ - j)); };
    for (Index j = 0; j < count; j += kPanelColumns) {
      const Index columns = std::min(kPanelColumns, count - j), next = first + j + kPanelColumns;
      pack<kPanelColumns>(weight(first + j), panel);
      Ahead ahead = next < classes_ ? Ahead(weight(next)) : Ahead();
      for (Index r = 0; r < n_; r += kTileRows) {
        const Index rows = std::min<Index>(kTileRows, n_ - r);
        const Matrix<const float> start =
            p_.bias.empty()
                ? Matrix<const float>()
                : Matrix<const float>(&p_.bias[static_cast<std::size_t>(first + j)], rows, columns, 0);
        tile(InPanel{states_ + r / kPanelRows * kPanelRows * groups + r % kPanelRows}, panel, groups, start,
             logits_.row_range(r, rows).columns(j, columns), ahead);
      }
    }
  }

  /// From the first `count` classes.
  void set_references(Index count) {
    for (Index i = 0; i < n_; ++i) {
      __m512 most = lowest();
      for (Index j = 0; j < count; j += kLanes) {
        const __mmask16 there = first_lanes(count - j);
        most = _mm512_mask_max_ps(most, there, most, _mm512_maskz_loadu_ps(there, logits_.row(i) + j));
      }
      rows_[static_cast<std::size_t>(i)].reference = _mm512_reduce_max_ps(most) + kMargin;
    }
  }

  /// From the logits of `count` classes from `first` on their powers, as rows and as the panels of multiply_states; false
  /// if logits are too large.
  bool exponentiate(Index first, Index count) {
    if (first == 0) set_references(count);
    const __m512 log2_e = _mm512_set1_ps(1.4426950f);
    for (Index i = 0; i < n_; i += 2) {
      const int rows = i + 1 < n_ ? 2 : 1;
      Row* const row = &rows_[static_cast<std::size_t>(i)];
      __m512 sum[2], total[2], max[2], reference[2];
      for (int r = 0; r < rows; ++r) {
        sum[r] = _mm512_load_ps(row[r].sums), total[r] = _mm512_load_ps(row[r].totals), max[r] = lowest();
        reference[r] = _mm512_set1_ps(row[r].reference);
      }
      for (Index j = 0; j < count; j += kLanes) {
        const __mmask16 there = first_lanes(count - j);
        __m512 power[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
#pragma GCC unroll 2
        for (int r = 0; r < rows; ++r) {
          const __m512 x = _mm512_maskz_loadu_ps(there, logits_.row(i + r) + j);
          max[r] = _mm512_mask_max_ps(max[r], there, max[r], x);
          total[r] = _mm512_add_ps(total[r], x);
          power[r] =
              _mm512_maskz_mov_ps(there, power_of_two(_mm512_mul_ps(_mm512_sub_ps(x, reference[r]), log2_e)));
          sum[r] = _mm512_add_ps(sum[r], power[r]);
        }
        const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(power[1], power[0]);
        std::uint16_t* const to = powers_ + i * kColumns + j;
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(both));
        if (rows == 2)
          _mm256_store_si256(reinterpret_cast<__m256i*>(to + kColumns), _mm512_extracti64x4_epi64(both, 1));
        if (kept_) _mm512_store_si512(kept(first + j) + i / 2 * width_, in_pairs(both));
      }
      for (int r = 0; r < rows; ++r) {
        _mm512_store_ps(row[r].sums, sum[r]), _mm512_store_ps(row[r].totals, total[r]);
        if (_mm512_cmp_ps_mask(max[r], _mm512_set1_ps(row[r].max), _CMP_GT_OQ) != 0) {
          const float* const x = logits_.row(i + r);
          row[r].max = _mm512_reduce_max_ps(max[r]);
          row[r].best = first + (std::find(x, x + count, row[r].max) - x);
        }
        if (!(row[r].max <= row[r].reference)) return false;
      }
    }
    if (kept_ && groups_ > pairs_) {
      for (Index j = 0; j < count; j += kLanes)
        _mm512_store_si512(kept(first + j) + pairs_ * width_, _mm512_set1_epi32(kOne | kOne << 16));
    }
    return true;
  }

  void take_targets(Index first, Index count) {
    for (Index i = 0; i < n_; ++i) {
      const Index target = p_.targets[static_cast<std::size_t>(i)] - first;
      if (target >= 0 && target < count) rows_[static_cast<std::size_t>(i)].target = logits_(i, target);
    }
  }

  /// weighted += the powers times the weights of these classes; in its last row, of ones, their sum.
  void add_weighted(Index first, Index count) {
    alignas(64) std::uint32_t panel[kColumns / 2 * kPanelColumns];
    const Matrix<const float> weight = p_.weight.columns(first, count).t();
    const Index groups = (count + 1) / 2;
    const auto* const powers = reinterpret_cast<const std::uint32_t*>(powers_);
    for (Index j = 0; j < d_; j += kPanelColumns) {
      const Index columns = std::min(kPanelColumns, d_ - j);
      pack<kPanelColumns>(weight.columns(j, columns), panel);
      for (Index r = 0; r <= n_; r += kTileRows) {
        const Matrix<float> part =
            weighted_.row_range(r, std::min<Index>(kTileRows, n_ + 1 - r)).columns(j, columns);
        Ahead none;
        tile(InRows(powers + r * (kColumns / 2), kColumns / 2), panel, groups,
             first > 0 ? Matrix<const float>(part) : Matrix<const float>(), part, none);
      }
    }
  }

  /// Where the panels have the first row of this class, a multiple of kLanes.
  std::uint32_t* kept(Index of_class) const {
    return kept_ + of_class / width_ * width_ * groups_ + of_class % width_;
  }

  /// d_weight += scaled states' times the exponentials, and the part of the smoothed target.
  void multiply_states(std::span<const float> factors, float uniform, Arena& arena) const {
    const bool by_class = width_ == kPanelRows;
    const Index width = by_class ? kPanelColumns : kPanelRows;
    const Matrix<float> scaled = arena.matrix<float>(n_, d_);
    std::vector<float> sum(static_cast<std::size_t>(d_), 0.0f);
    for (Index i = 0; i < n_; ++i) {
      const float factor = factors[static_cast<std::size_t>(i)];
      for (Index j = 0; j < d_; ++j) {
        scaled(i, j) = factor * p_.states(i, j);
        sum[static_cast<std::size_t>(j)] += p_.states(i, j);
      }
    }
    auto* const panels = arena.allocate<std::uint32_t>(whole(d_, width) * groups_);
    for (Index j = 0; j < d_; j += width) {
      std::uint32_t* const to = panels + j * groups_;
      const Matrix<const float> part = scaled.columns(j, std::min(width, d_ - j));
      if (by_class)
        pack<kPanelColumns>(part, to);
      else
        pack<kPanelRows>(part, to);
      if (groups_ == pairs_) continue;
      for (Index x = 0; x < width; ++x)
        to[pairs_ * width + x] = j + x < d_ ? two_parts(-uniform * sum[static_cast<std::size_t>(j + x)]) : 0;
    }
    count_product(d_, classes_, n_);
    if (by_class)
      multiply_panels(kept_, panels, groups_, p_.d_weight.t());
    else
      multiply_panels(panels, kept_, groups_, p_.d_weight);
  }

  /// d_bias += the exponentials, scaled, less `uniform`.
  void add_to_bias(std::span<const float> factors, float uniform) const {
    for (Index first = 0; first < classes_; first += kLanes) {
      __m512 sum = _mm512_set1_ps(-uniform);
      const std::uint32_t* const at = kept(first);
      for (Index i = 0; i < n_; ++i) {
        const __m512i pair = _mm512_loadu_si512(at + i / 2 * width_);
        const __m512i bits = i % 2 == 0
                                 ? _mm512_slli_epi32(pair, 16)
                                 : _mm512_and_si512(pair, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
        sum = _mm512_fmadd_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(factors[static_cast<std::size_t>(i)]),
                              sum);
      }
      float* const to = p_.d_bias.data() + first;
      const __mmask16 there = first_lanes(classes_ - first);
      _mm512_mask_storeu_ps(to, there, _mm512_add_ps(_mm512_maskz_loadu_ps(there, to), sum));
    }
  }

  const ProjectedLoss& p_;
  Index n_, d_, classes_;
  Index pairs_;   ///< of rows
  Index groups_;  ///< pairs, and one for what is the same for all classes
  Index
      width_;  ///< of the panels of powers: d_weight has the weights of a class together, or those of a unit
  std::vector<Row> rows_;
  std::uint32_t* states_;  ///< panels of p_.states
  Matrix<float> logits_;   ///< [n, kColumns]
  std::uint16_t*
      powers_;  ///< [n + 1, kColumns] in bfloat16, filled up to whole tiles; those after n are ones
  Matrix<float> weighted_;         ///< [n + 1, d]
  std::uint32_t* kept_ = nullptr;  ///< powers of all classes as panels, pairs of rows of logits
};

#undef HEED_INLINE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace
#endif

std::int64_t bfloat16_loss(const ProjectedLoss& loss, Arena& arena, CrossEntropySums& sums) {
  std::int64_t done = 0;
#if defined(__x86_64__)
  const std::int64_t n = loss.states.rows, d = loss.states.cols, classes = loss.weight.cols;
  if (simd_level() != SimdLevel::avx512 || !__builtin_cpu_supports("avx512bf16") || d > kDepth) return 0;
  const std::int64_t blocks = (n + kRows - 1) / kRows;
  for (std::int64_t left = blocks; left > 0; --left) {
    ProjectedLoss block = loss;
    const std::int64_t count = (n - done) / left;  // about equal
    if (std::min({count, d, classes}) < kFewestForBfloat16) break;
    block.states = loss.states.row_range(done, count);
    block.targets = loss.targets.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    block.d_states = loss.d_states.row_range(done, count);
    const Arena::Mark mark = arena.mark();
    Computation computation(block, arena);
    const bool fits = computation.forward();
    if (fits) computation.finish(arena, sums);
    arena.rewind(mark);
    if (!fits) break;
    done += count;
  }
#endif
  return done;
}

}  // namespace heed
