// The loss of a projection in bfloat16 against the same in double with the factors rounded.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "support/gradient_check.h"
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

/// The length of the difference as a part of the right one's.
double difference(const std::vector<float>& got, const std::vector<double>& right) {
  double square = 0, of_difference = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    square += right[i] * right[i];
    of_difference += (got[i] - right[i]) * (got[i] - right[i]);
  }
  return std::sqrt(of_difference / square);
}

void check(const Problem& p, float before = 0) {
  const Result<double> right = compute<double>(p, Precision::float32, before);
  const Result<float> got = compute<float>(p, Precision::bfloat16, before);
  BOOST_TEST_CONTEXT(p.n << " x " << p.d << " x " << p.vocabulary << (p.tied ? ", tied" : "")
                         << (p.biased ? ", biased" : "")) {
    BOOST_TEST(got.sums.loss == right.sums.loss, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(got.sums.nll == right.sums.nll, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(got.sums.correct == right.sums.correct);
    // Of two factors each is off by at most 0.004 of itself.
    BOOST_TEST(difference(got.d_states, right.d_states) < 0.005);
    if (p.trains_weight) BOOST_TEST(difference(got.d_weight, right.d_weight) < 0.005);
    if (p.biased) BOOST_TEST(difference(got.d_bias, right.d_bias) < 0.005);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_is_that_of_the_factors_rounded) {
  for (const bool tied : {false, true}) {
    for (const bool biased : {false, true}) {
      for (const auto& [n, d, vocabulary] :
           {std::array<std::int64_t, 3>{17, 40, 700}, {24, 33, 288}, {530, 16, 301}, {16, 512, 577}})
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

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_of_logits_that_are_far_apart) {
  for (const double far : {25.0, 60.0, 1000.0}) {
    Problem p(40, 16, 700, true, false);
    for (std::int64_t i = 0; i < p.n; ++i) {  // the first unit decides, in the third block of classes
      p.states[static_cast<std::size_t>(i * p.d)] = 1;
      p.targets[static_cast<std::size_t>(i)] = i % 2 == 0 ? 600 : 7;
    }
    for (std::int64_t c = 0; c < p.vocabulary; ++c) p.weight_of(0, c) = 0;
    p.weight_of(0, 600) = to_bfloat16(far), p.weight_of(0, 601) = p.weight_of(0, 600);
    check(p);
  }
}

BOOST_AUTO_TEST_CASE(loss_in_bfloat16_of_states_that_are_no_numbers) {
  Problem p(40, 16, 700, true, false);
  p.states[33] = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(std::isnan(compute<float>(p, Precision::bfloat16).sums.loss));
  p.states[33] = std::numeric_limits<double>::infinity();
  BOOST_TEST(!std::isfinite(compute<float>(p, Precision::bfloat16).sums.loss));
}
