#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of GCC 12's own intrinsics (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"        // likewise
#endif
#include "tensor/bfloat16_loss.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/simd_level.h"
#include "tensor/bfloat16_tiles.h"
#include "tensor/gemm.h"
#include "tensor/product_count.h"

namespace heed {

#if defined(__x86_64__)
namespace {

HWY_PUSH_ATTRIBUTES(HEED_BFLOAT16_TARGET)

using namespace bfloat16;

/// Classes at a time: whole panels of either kind, so few that the logits of a block of rows stay in the second-level cache.
constexpr Index kClasses = 288;
static_assert(kClasses % kPanelRows == 0 && kClasses % kPanelColumns == 0);
/// Rows of states whose exponentials are kept at a time.
constexpr Index kRows = 512;
constexpr std::uint32_t kOnes = 0x3F803F80;  ///< a pair of bfloat16

/// A row's reference is its largest logit among the first classes plus this. A larger logit later would call for other
/// exponentials than those already summed up; such rows are left to the caller. exp(-30 - 57) is still a normal number.
constexpr float kMargin = 30;

/// The bits of the nearest bfloat16.
HWY_INLINE std::uint32_t bfloat16_bits(float x) {
  return static_cast<std::uint16_t>(_mm_extract_epi16((__m128i)_mm_cvtneps_pbh(_mm_set_ss(x)), 0));
}

HWY_INLINE float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

/// A pair of bfloat16 whose sum is x to twice their digits.
std::uint32_t split(float x) {
  const std::uint32_t high = bfloat16_bits(x);
  return high | bfloat16_bits(x - from_bits(high)) << 16;
}

HWY_INLINE __m512 minus_infinity() {
  return _mm512_set1_ps(-std::numeric_limits<float>::infinity());
}

/// exp(x) for x <= 0, to 4e-6 of it.
HWY_INLINE __m512 exp_of_negative(__m512 x) {
  const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(1.4426950f)),
               whole = _mm512_roundscale_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
               part = _mm512_sub_ps(y, whole);
  __m512 sum = _mm512_set1_ps(1.3333558e-3f);  // 2^part by its series
  for (const float c : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(c));
  return _mm512_scalef_ps(sum, whole);
}

/// What is known of a row of logits, of which one block of classes after the other is seen.
struct Row {
  alignas(64) float sums[kLanes] = {};    ///< together: of exp(logit - reference)
  alignas(64) float totals[kLanes] = {};  ///< together: of the logits
  float reference = 0, max = -std::numeric_limits<float>::infinity();
  Index best = 0;         ///< the first of the largest
  float target = 0;       ///< the target's logit
  float target_exp = 0;   ///< its exponential
  float rounded_exp = 0;  ///< the same in bfloat16

  float sum() const { return _mm512_reduce_add_ps(_mm512_load_ps(sums)); }
  float total() const { return _mm512_reduce_add_ps(_mm512_load_ps(totals)); }
};

/// c += the product of the panels of both factors.
void multiply_panels(const std::uint32_t* a, const std::uint32_t* b, Index groups, Matrix<float> c) {
  // Blocks of a that stay in the second-level cache.
  const Index most = std::max(kPanelRows, kBlockRows * kDepth / 2 / groups / kPanelRows * kPanelRows);
  each_part(c.rows, most, kPanelRows, [&](Index i, Index rows) {
    for (Index j = 0; j < c.cols; j += kPanelColumns) {
      for (Index r = i; r < i + rows; r += kTileRows) {
        const Matrix<float> part = c.row_range(r, std::min<Index>(kTileRows, i + rows - r))
                                       .columns(j, std::min(kPanelColumns, c.cols - j));
        tile(InPanel(a, r, groups), b + j * groups, groups, part, part);
      }
    }
  });
}

class FusedLoss {
 public:
  FusedLoss(const ProjectedLoss& loss, Arena& arena)
      : p_(loss),
        arena_(arena),
        n_(loss.states.rows),
        d_(loss.states.cols),
        classes_(loss.weight.cols),
        pairs_((n_ + 1) / 2),
        groups_(pairs_ + (loss.smoothing > 0)),
        stride_(room(groups_)),
        width_(!amx_ && loss.d_weight.col_stride != 1 ? kPanelRows : kPanelColumns),
        rows_(static_cast<std::size_t>(n_)),
        states_(arena.allocate<std::uint32_t>(round_up(n_, kBlock) * room((d_ + 1) / 2))),
        logits_(arena.matrix<float>(n_, kClasses)),
        exps_(arena.allocate<std::uint32_t>(round_up(n_ + 1, kBlock) * kRowPairs)),
        weighted_(arena.matrix<float>(n_ + 1, d_)) {
    if (p_.d_weight.data || !p_.d_bias.empty())
      kept_ = arena.allocate<std::uint32_t>(round_up(classes_, kClasses) * stride_);
    if (classes_ < kClasses)
      std::fill_n(exps_, n_ * kRowPairs, 0u);  // AMX takes some pairs beyond the last class
    std::fill_n(exps_ + n_ * kRowPairs, kRowPairs, kOnes);
  }

  /// Everything that takes the logits; false if they do not allow it.
  bool forward() {
    pack_rows(p_.states, room((d_ + 1) / 2), states_);
    for (Index first = 0; first < classes_; first += kClasses) {
      const Index count = std::min(kClasses, classes_ - first);
      project(first, count);
      if (first == 0) set_references(count);
      for (Index i = 0; i < n_; i += 2) {
        if (!(i + 1 < n_ ? exponentiate<2>(i, first, count) : exponentiate<1>(i, first, count))) return false;
      }
      take_targets(first, count);
      add_weighted(first, count);
    }
    return true;
  }

  void add_sums(CrossEntropySums& sums) const {
    const double s = p_.smoothing, share = s / static_cast<double>(classes_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const double log_sum = static_cast<double>(row.reference) + std::log(static_cast<double>(row.sum()));
      const double nll = log_sum - static_cast<double>(row.target);
      sums.nll += nll;
      sums.loss += (1 - s) * nll + (s == 0 ? 0 : s * log_sum - share * static_cast<double>(row.total()));
      sums.correct += row.best == p_.targets[i];
    }
  }

  // With e = exp(logit - reference), sum the e of a row and q the target distribution without its uniform part:
  //   d loss / d logit = scale / sum * (e - sum q) - scale * smoothing / V
  // The bracket of the target is computed in float32, as its terms may cancel.
  void add_gradients() {
    count_product(n_, classes_, d_), count_product(n_, d_, classes_);
    const auto uniform = static_cast<float>(p_.scale * p_.smoothing / static_cast<double>(classes_));
    std::vector<float> factors;
    for (Index i = 0; i < n_; ++i) {
      const Row& row = rows_[static_cast<std::size_t>(i)];
      const Index target = p_.targets[static_cast<std::size_t>(i)];
      const float sum = row.sum(), bracket = row.target_exp - static_cast<float>(1 - p_.smoothing) * sum;
      factors.push_back(p_.scale / sum);
      if (kept_) replace_kept(i, target, bracket);
      finish_state(i, factors.back(), bracket - row.rounded_exp, p_.weight.columns(target, 1), uniform);
    }
    if (p_.d_weight.data) multiply_states(factors, uniform);
    if (!p_.d_bias.empty()) add_to_bias(factors, uniform * static_cast<float>(n_));
  }

 private:
  static constexpr Index kRowPairs = kClasses / 2;

  /// The logits of `count` classes from `first` on.
  void project(Index first, Index count) {
    alignas(64) std::uint32_t panel[kDepth / 2 * kPanelColumns];
    const auto weight = [&](Index j) { return p_.weight.columns(j, std::min(kPanelColumns, classes_ - j)); };
    for (Index j = 0; j < count; j += kPanelColumns) {
      const Index columns = std::min(kPanelColumns, count - j), next = first + j + kPanelColumns;
      pack<kPanelColumns>(weight(first + j), panel);
      Ahead ahead = next < classes_ ? Ahead(weight(next)) : Ahead();
      Matrix<const float> start;
      if (!p_.bias.empty()) start = {&p_.bias[static_cast<std::size_t>(first + j)], n_, columns, 0};
      multiply_rows(states_, room((d_ + 1) / 2), panel, (d_ + 1) / 2, start, logits_.columns(j, columns),
                    ahead);
    }
  }

  /// From the first `count` classes.
  void set_references(Index count) {
    for (Index i = 0; i < n_; ++i) {
      __m512 most = minus_infinity();
      for (Index j = 0; j < count; j += kLanes) {
        const __mmask16 there = first_lanes(count - j);
        most = _mm512_mask_max_ps(most, there, most, _mm512_maskz_loadu_ps(there, logits_.row(i) + j));
      }
      rows_[static_cast<std::size_t>(i)].reference = _mm512_reduce_max_ps(most) + kMargin;
    }
  }

  /// The exponentials of `count` classes from `first` on in rows i and, of two, i + 1, a pair in the panels of
  /// multiply_states; false if logits are too large.
  template <int rows>
  bool exponentiate(Index i, Index first, Index count) {
    Row* const row = &rows_[static_cast<std::size_t>(i)];
    __m512 sum[rows], total[rows], max[rows], reference[rows];
    for (int r = 0; r < rows; ++r) {
      sum[r] = _mm512_load_ps(row[r].sums), total[r] = _mm512_load_ps(row[r].totals),
      max[r] = minus_infinity();
      reference[r] = _mm512_set1_ps(row[r].reference);
    }
    std::uint32_t* const to = exps_ + i * kRowPairs;
    for (Index j = 0; j < count; j += kLanes) {
      const __mmask16 there = first_lanes(count - j);
      __m512 e[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
#pragma GCC unroll 2
      for (int r = 0; r < rows; ++r) {
        const __m512 x = _mm512_maskz_loadu_ps(there, logits_.row(i + r) + j);
        max[r] = _mm512_mask_max_ps(max[r], there, max[r], x);
        total[r] = _mm512_add_ps(total[r], x);
        e[r] = _mm512_maskz_mov_ps(there, exp_of_negative(_mm512_sub_ps(x, reference[r])));
        sum[r] = _mm512_add_ps(sum[r], e[r]);
      }
      const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(e[1], e[0]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + j / 2), _mm512_castsi512_si256(both));
      if (rows == 2)
        _mm256_store_si256(reinterpret_cast<__m256i*>(to + kRowPairs + j / 2),
                           _mm512_extracti64x4_epi64(both, 1));
      if (kept_) _mm512_store_si512(kept(i, first + j), in_pairs(both));
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
    return true;
  }

  void take_targets(Index first, Index count) {
    for (Index i = 0; i < n_; ++i) {
      Row& row = rows_[static_cast<std::size_t>(i)];
      const Index target = p_.targets[static_cast<std::size_t>(i)] - first;
      if (target < 0 || target >= count) continue;
      row.target = logits_(i, target);
      row.target_exp = _mm512_cvtss_f32(exp_of_negative(_mm512_set1_ps(row.target - row.reference)));
      row.rounded_exp = from_bits(exps_[i * kRowPairs + target / 2] >> 16 * (target % 2) & 0xFFFF);
    }
  }

  /// weighted += the exponentials times the weights of these classes; in its last row, of ones, their sum.
  void add_weighted(Index first, Index count) {
    alignas(64) std::uint32_t panel[kRowPairs * kPanelColumns];
    const Matrix<const float> weight = p_.weight.columns(first, count).t();
    const Index groups = (count + 1) / 2;
    Ahead none;
    for (Index j = 0; j < d_; j += kPanelColumns) {
      const Index columns = std::min(kPanelColumns, d_ - j);
      pack<kPanelColumns>(weight.columns(j, columns), panel);
      const Matrix<float> part = weighted_.columns(j, columns);
      multiply_rows(exps_, kRowPairs, panel, groups,
                    first > 0 ? Matrix<const float>(part) : Matrix<const float>(), part, none);
    }
  }

  /// Where the panels have this class of the pair of rows that has row i.
  std::uint32_t* kept(Index i, Index of_class) const {
    return kept_ + of_class / width_ * width_ * stride_ + i / 2 * width_ + of_class % width_;
  }

  void replace_kept(Index i, Index of_class, float x) {
    std::uint32_t& pair = *kept(i, of_class);
    const int shift = i % 2 == 0 ? 0 : 16;
    pair = (pair & ~(0xFFFFu << shift)) | bfloat16_bits(x) << shift;
  }

  /// d_states of row i; `change` is what the target's exponential in weighted_ lacks.
  void finish_state(Index i, float factor, float change, Matrix<const float> target, float uniform) const {
    const float *const x = weighted_.row(i), *const sum_of_weights = weighted_.row(n_);
    for (Index j = 0; j < d_; ++j) {
      float& to = p_.d_states(i, j);
      const float start = p_.adds_to_d_states ? to : 0, weight = from_bits(bfloat16_bits(target(j, 0)));
      to = start + factor * (x[j] + change * weight) - uniform * sum_of_weights[j];
    }
  }

  /// d_weight += the states, scaled, times what is kept, and the uniform part of a smoothed target, which is the same for all
  /// classes: one more group of ones times its value, as two numbers of few digits.
  void multiply_states(std::span<const float> factors, float uniform) {
    const Matrix<float> scaled = arena_.matrix<float>(n_, d_);
    std::vector<float> sum(static_cast<std::size_t>(d_), 0.0f);
    for (Index i = 0; i < n_; ++i) {
      const float factor = factors[static_cast<std::size_t>(i)];
      for (Index j = 0; j < d_; ++j) {
        scaled(i, j) = factor * p_.states(i, j);
        sum[static_cast<std::size_t>(j)] += p_.states(i, j);
      }
    }
    const auto uniform_part = [&](Index j) { return split(-uniform * sum[static_cast<std::size_t>(j)]); };
    for (Index j = 0; groups_ > pairs_ && j < round_up(classes_, kLanes); j += kLanes)
      _mm512_store_si512(kept(2 * pairs_, j), _mm512_set1_epi32(kOnes));
    count_product(d_, classes_, n_);
    if (amx_) {
      auto* const rows = arena_.allocate<std::uint32_t>(round_up(d_, kBlock) * stride_);
      pack_rows(scaled.t(), stride_, rows);
      for (Index j = 0; groups_ > pairs_ && j < d_; ++j) rows[j * stride_ + pairs_] = uniform_part(j);
      Ahead none;
      for (Index j = 0; j < classes_; j += kPanelColumns) {
        const Matrix<float> part = p_.d_weight.columns(j, std::min(kPanelColumns, classes_ - j));
        multiply_rows_amx(rows, stride_, kept_ + j * stride_, groups_, part, part, none);
      }
      return;
    }
    const bool by_class = width_ == kPanelRows;
    const Index width = by_class ? kPanelColumns : kPanelRows;
    auto* const panels = arena_.allocate<std::uint32_t>(round_up(d_, width) * groups_);
    for (Index j = 0; j < d_; j += width) {
      std::uint32_t* const to = panels + j * groups_;
      const Matrix<const float> part = scaled.columns(j, std::min(width, d_ - j));
      if (by_class)
        pack<kPanelColumns>(part, to);
      else
        pack<kPanelRows>(part, to);
      if (groups_ == pairs_) continue;
      for (Index x = 0; x < width; ++x) to[pairs_ * width + x] = j + x < d_ ? uniform_part(j + x) : 0;
    }
    if (by_class)
      multiply_panels(kept_, panels, groups_, p_.d_weight.t());
    else
      multiply_panels(panels, kept_, groups_, p_.d_weight);
  }

  /// d_bias += what is kept, scaled, less `uniform`.
  void add_to_bias(std::span<const float> factors, float uniform) const {
    for (Index first = 0; first < classes_; first += kLanes) {
      __m512 sum = _mm512_set1_ps(-uniform);
      for (Index i = 0; i < n_; ++i) {
        const __m512i pair = _mm512_load_si512(kept(i, first));
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
  Arena& arena_;
  Index n_, d_, classes_;
  const bool amx_ = simd_level() == SimdLevel::amx;
  Index pairs_;   ///< of rows
  Index groups_;  ///< pairs, and one for the uniform part
  Index stride_;  ///< groups that kept_ has room for
  /// Of the panels in kept_: those of a left factor if d_weight has the weights of a class together, and for AMX always those of
  /// a right factor.
  Index width_;
  std::vector<Row> rows_;
  std::uint32_t* states_;   ///< rows of pairs of p_.states
  Matrix<float> logits_;    ///< [n, kClasses]
  std::uint32_t* exps_;     ///< [n + 1, kRowPairs], exponentials of a block, and a last row of ones
  Matrix<float> weighted_;  ///< [n + 1, d]
  std::uint32_t* kept_ =
      nullptr;  ///< panels of the exponentials of all classes (those beyond V are arbitrary)
};

HWY_POP_ATTRIBUTES

}  // namespace
#endif

std::int64_t bfloat16_loss([[maybe_unused]] const ProjectedLoss& loss, [[maybe_unused]] Arena& arena,
                           [[maybe_unused]] CrossEntropySums& sums) {
  std::int64_t done = 0;
#if defined(__x86_64__)
  const std::int64_t n = loss.states.rows, d = loss.states.cols, classes = loss.weight.cols;
  if (!has_pairs() || d > kDepth) return 0;
  for (std::int64_t left = (n + kRows - 1) / kRows; left > 0; --left) {
    ProjectedLoss block = loss;
    const std::int64_t count = (n - done) / left;  // about equal
    if (std::min({count, d, classes}) < kFewestForBfloat16) break;
    block.states = loss.states.row_range(done, count);
    block.targets = loss.targets.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    block.d_states = loss.d_states.row_range(done, count);
    const Arena::Mark mark = arena.mark();
    FusedLoss fused(block, arena);
    const bool fits = fused.forward();
    if (fits) {
      fused.add_sums(sums);
      fused.add_gradients();
    }
    arena.rewind(mark);
    if (!fits) break;
    done += count;
  }
#endif
  return done;
}

}  // namespace heed
