// The loss of a projection in bfloat16 against the same in double with the factors rounded.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "base/simd_level.h"
#include "support/gradient_check.h"
#include "tensor/arena.h"
#include "tensor/bfloat16_loss.h"
#include "tensor/precision.h"

using namespace heed;
using heed::test::random_values;

namespace {

/// The nearest number of 8 bits of mantissa.
double to_bfloat16(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double step = std::exp2(std::ilogb(x) - 7);
  return std::nearbyint(x / step) * step;
}

struct Problem {
  std::int64_t n, d, vocabulary;
  bool tied, biased, trains_weight = true;
  double smoothing = 0.1, scale = 0.25;
  std::vector<double> states, weight, bias;  ///< states and weight are bfloat16
  std::vector<std::int32_t> targets;

  Problem(std::int64_t n, std::int64_t d, std::int64_t vocabulary, bool tied, bool biased)
      : n(n), d(d), vocabulary(vocabulary), tied(tied), biased(biased) {
    states = random_values(n * d, 1), weight = random_values(d * vocabulary, 2);
    for (std::vector<double>* factor : {&states, &weight})
      for (double& x : *factor) x = to_bfloat16(x);
    if (biased) bias = random_values(vocabulary, 3);
    for (std::int64_t i = 0; i < n; ++i) targets.push_back(static_cast<std::int32_t>(i * 31 % vocabulary));
  }
  double& weight_of(std::int64_t unit, std::int64_t c) {
    return weight[static_cast<std::size_t>(tied ? c * d + unit : unit * vocabulary + c)];
  }
};

template <class T>
struct Result {
  CrossEntropySums sums;
  std::vector<T> d_states, d_weight, d_bias;
};

/// `before`: what gradients have before; that of the states is always added to.
template <class T>
Result<T> compute(const Problem& p, Precision precision, T before = 0) {
  const auto converted = [](const std::vector<double>& from) {
    return std::vector<T>(from.begin(), from.end());
  };
  std::vector<T> states = converted(p.states), weight = converted(p.weight), bias = converted(p.bias);
  Result<T> result;
  result.d_states.assign(states.size(), before), result.d_weight.assign(weight.size(), before);
  result.d_bias.assign(bias.size(), before);
  Tape<T> tape;
  tape.set_with_gradients(true);
  tape.set_precision(precision);
  const std::int64_t rows = p.tied ? p.vocabulary : p.d, cols = p.tied ? p.d : p.vocabulary;
  const Var<T> x = tape.leaf({states.data(), p.n, p.d}, {result.d_states.data(), p.n, p.d});
  const Matrix<T> w(weight.data(), rows, cols);
  const Var<T> weights =
      p.trains_weight ? tape.leaf(w, {result.d_weight.data(), rows, cols}) : tape.constant(w);
  Var<T> b;
  if (p.biased) b = tape.leaf({bias.data(), 1, p.vocabulary}, {result.d_bias.data(), 1, p.vocabulary});
  result.sums = projected_cross_entropy<T>(x, weights, p.tied, p.targets, p.smoothing,
                                           static_cast<T>(p.scale), nullptr, b);
  return result;
}

double length(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// `got` and `right` [n, *] as a whole and line by line, rows or columns, of which none must be missing.
void check_gradient(const char* name, const std::vector<float>& got, const std::vector<double>& right,
                    std::int64_t n, bool by_column = false) {
  const auto of = static_cast<std::int64_t>(right.size()) / n;
  std::vector<double> lengths(static_cast<std::size_t>(by_column ? of : n)), differences = lengths;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto line = static_cast<std::size_t>(by_column ? at % of : at / of);
    lengths[line] += right[i] * right[i], differences[line] += (got[i] - right[i]) * (got[i] - right[i]);
  }
  for (double& x : lengths) x = std::sqrt(x);
  for (double& x : differences) x = std::sqrt(x);
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(length(differences) <
               0.005 * length(lengths));  // each of two factors is off by at most 0.004 of itself
    const double average =
        std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
    double most = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      most = std::max(most, differences[i] / (lengths[i] + average / 10));
    BOOST_TEST(most < 0.06);  // a short line is the difference of longer terms
  }
}

void check(const Problem& p, float before = 0) {
  const Result<double> right = compute<double>(p, Precision::float32, before);
  const Result<float> got = compute<float>(p, Precision::bfloat16, before);
  BOOST_TEST_CONTEXT(p.n << " x " << p.d << " x " << p.vocabulary << (p.tied ? ", tied" : "")
                         << (p.biased ? ", biased" : "")) {
    BOOST_TEST(got.sums.loss == right.sums.loss, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(got.sums.nll == right.sums.nll, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(got.sums.correct == right.sums.correct);
    check_gradient("states", got.d_states, right.d_states, p.n);
    if (p.trains_weight)  // class by class
      check_gradient("weight", got.d_weight, right.d_weight, p.tied ? p.vocabulary : p.d, !p.tied);
    if (p.biased) check_gradient("bias", got.d_bias, right.d_bias, p.vocabulary);
  }
}

/// In rows from `first` on the first unit decides, for classes behind the first block.
Problem far_apart(std::int64_t n, std::int64_t d, std::int64_t vocabulary, double far, std::int64_t first) {
  Problem p(n, d, vocabulary, true, false);
  const std::int64_t large = std::min<std::int64_t>(600, vocabulary - 2);
  for (std::int64_t i = 0; i < n; ++i) {
    p.states[static_cast<std::size_t>(i * d)] = i >= first ? 1 : 0;
    p.targets[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 2 == 0 ? large : 7);
  }
  for (std::int64_t c = 0; c < vocabulary; ++c) p.weight_of(0, c) = 0;
  p.weight_of(0, large) = p.weight_of(0, large + 1) = to_bfloat16(far);
  return p;
}

}  // namespace

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_is_that_of_the_factors_rounded) {
  for (const bool tied : {false, true}) {
    for (const bool biased : {false, true}) {
      for (const auto& [n, d, vocabulary] : {std::array<std::int64_t, 3>{17, 40, 700},
                                             {24, 33, 288},
                                             {530, 16, 301},
                                             {16, 512, 577},
                                             {23, 20, 40},
                                             {512, 16, 700}})
        check(Problem(n, d, vocabulary, tied, biased));
    }
  }
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_knows_every_part_of_a_smoothed_target) {
  for (const double smoothing : {0.0, 0.6}) {
    for (const bool tied : {false, true}) {
      Problem p(31, 20, 650, tied, true);
      for (double& x : p.weight)
        x /= 64;  // flat distributions: the target's and the uniform part are what is left
      p.smoothing = smoothing;
      check(p);
    }
  }
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_adds_to_the_gradients_that_are_there) {
  for (const bool tied : {false, true}) check(Problem(20, 24, 330, tied, true), 0.01f);
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_without_the_gradient_of_the_weights) {
  Problem p(20, 24, 330, true, true);
  p.trains_weight = false;
  check(p);
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_of_targets_that_are_nearly_certain) {
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool tied : {false, true}) {
      Problem p(35, 24, 330, tied, true);
      p.smoothing = smoothing;
      for (double& x : p.weight) x /= 16;
      for (double& x : p.bias) x /= 16;
      for (std::int64_t i = 0; i < p.n; ++i) p.targets[static_cast<std::size_t>(i)] = 300;
      p.bias[300] = 9;  // p = 0.96
      check(p);
    }
  }
}

// What autograd does not see: that this computes the loss, and gradients that are overwritten.
BOOST_AUTO_TEST_CASE(loss_in_bfloat16_takes_the_rows_that_it_can) {
#if defined(__x86_64__)
  const bool able = simd_level() >= SimdLevel::avx512 && __builtin_cpu_supports("avx512bf16");
#else
  const bool able = false;
#endif
  const std::int64_t d = 16;
  const auto rows_taken = [&](std::int64_t n, double far, std::int64_t first_far,
                              std::int64_t vocabulary = 700) {
    Problem p = far_apart(n, d, vocabulary, far, first_far);
    const std::vector<float> states(p.states.begin(), p.states.end()),
        weight(p.weight.begin(), p.weight.end());
    std::vector<float> d_states(states.size(), std::numeric_limits<float>::quiet_NaN()),
        d_weight(weight.size());
    Arena arena;
    std::ranges::fill(row_span(arena.matrix<float>(1, 1 << 20), 0), std::numeric_limits<float>::quiet_NaN());
    arena.reset();  // what was there before must not matter
    CrossEntropySums sums;
    const std::int64_t rows = bfloat16_loss({{states.data(), n, d},
                                             Matrix<const float>(weight.data(), vocabulary, d).t(),
                                             {},
                                             p.targets,
                                             0.1,
                                             1,
                                             false,
                                             {d_states.data(), n, d},
                                             Matrix<float>(d_weight.data(), vocabulary, d).t(),
                                             {}},
                                            arena, sums);
    const Result<float> added = compute<float>(p, Precision::bfloat16);
    bool same = true;
    for (std::int64_t i = 0; i < rows * d; ++i)
      same = same &&
             d_states[static_cast<std::size_t>(i)] * 0.25f == added.d_states[static_cast<std::size_t>(i)];
    for (std::size_t i = 0; rows == n && i < d_weight.size(); ++i)
      same = same && d_weight[i] * 0.25f == added.d_weight[i];
    BOOST_TEST(same);
    for (std::int64_t i = rows * d; i < n * d; ++i)
      same = same && std::isnan(d_states[static_cast<std::size_t>(i)]);
    BOOST_TEST(same);
    return rows;
  };
  BOOST_TEST(rows_taken(40, 25, 0) == (able ? 40 : 0));
  BOOST_TEST(rows_taken(40, 60, 0) == 0);
  BOOST_TEST(rows_taken(15, 1, 0) == 0);                     // too few
  BOOST_TEST(rows_taken(530, 60, 300) == (able ? 265 : 0));  // of two blocks one
  BOOST_TEST(rows_taken(1025, 1, 0) == (able ? 1025 : 0));
  BOOST_TEST(rows_taken(40, 1, 0, 80) == (able ? 40 : 0));
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_of_logits_that_are_far_apart) {
  for (const double far : {25.0, 60.0, 1000.0}) {
    check(far_apart(40, 16, 700, far, 0), 0.01f);
    check(far_apart(530, 16, 700, far, 300), 0.01f);  // only in the second of two blocks of rows
  }
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_of_states_that_are_no_numbers) {
  Problem p(40, 16, 700, true, false);
  p.states[33] = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(std::isnan(compute<float>(p, Precision::bfloat16).sums.loss));
  p.states[33] = std::numeric_limits<double>::infinity();
  BOOST_TEST(!std::isfinite(compute<float>(p, Precision::bfloat16).sums.loss));
  Problem excluded(40, 16, 700, true, true);  // a class that cannot be
  excluded.bias[5] = -std::numeric_limits<double>::infinity();
  excluded.smoothing = 0;
  for (std::int32_t& target : excluded.targets) target = 7;
  check(excluded);
}
