// The operations of lib/nn/attention: every score function's gradients and a naive twin, softmax and weighted
// sum, local attention's windows, hard choices.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "nn/attention/choice.h"
#include "nn/attention/weights.h"
#include "nn/attention/window.h"
#include "support/op_check.h"

using namespace heed;
using heed::test::check_op;
using heed::test::random_values;

namespace {

const std::vector<std::int64_t> kSentences{2, 0, 2, 1};                    // two queries share a sentence
const std::vector<KeyWindow> kKeyWindows{{0, 2}, {1, 2}, {1, 0}, {2, 3}};  // one sees nothing
const Packing& keys_packing() {
  static const Packing keys(std::vector<std::int32_t>{3, 5, 2});
  return keys;
}
StepKeys every_key() {
  return {kSentences, &keys_packing()};
}

constexpr std::int64_t kQueries = 4, kKeys = 10, kWidth = 6, kPositions = 8;

/// The shape of the parameter that the comparison reads, when queries and keys are kWidth wide; rank 1 as a
/// row.
Shape weight_shape(const ScoreFunction& score) {
  for (const ScoreParameter& p : score.parameters) {
    if (!score.weight || p.name != std::string(score.weight)) continue;
    Shape shape = p.shape_of({kWidth, kWidth, kWidth, kPositions});
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    return shape;
  }
  return {};
}

Var<double> score_op(const ScoreFunction& score, const std::vector<Var<double>>& in, const StepKeys& at) {
  return attention_scores(score, in[0], compare_with(score, in[1]), in.size() > 2 ? in[2] : Var<double>(),
                          at);
}

/// e of one query and key by the formula.
double naive_score(const ScoreFunction& score, const double* q, const double* k, Matrix<const double> weight,
                   std::int64_t position) {
  double e = 0;
  for (std::int64_t c = 0; c < kWidth; ++c) {
    if (score.name == "location") {
      e += q[c] * weight(c, position);
    } else if (score.projected || score.query) {
      e += weight(0, c) * std::tanh(q[c] + k[c]);
    } else {
      e += q[c] * k[c];
    }
  }
  if (score.name == "scaled-dot") return e / std::sqrt(static_cast<double>(kWidth));
  return e;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_ops)

BOOST_AUTO_TEST_CASE(scores_have_their_gradients) {
  const StepKeys in_windows{kSentences, &keys_packing(), kKeyWindows};
  for (const ScoreFunction& score : score_functions()) {
    std::vector<test::Input> inputs{{kQueries, kWidth}, {kKeys, kWidth}};
    if (const Shape weight = weight_shape(score); !weight.empty()) inputs.push_back({weight[0], weight[1]});
    for (const StepKeys& at : {every_key(), in_windows}) {
      check_op(score.name, inputs, [&](const auto& in) {
        Var<double> e = score_op(score, in, at);
        // Whatever a score ignores has no gradient; a check wants one.
        return score.knows_positions() ? weighted_sum(softmax(e), in[1], at) : e;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(scores_equal_their_formulas) {
  const std::vector<double> q = random_values(kQueries * kWidth, 1), k = random_values(kKeys * kWidth, 2),
                            w = random_values(kWidth * kPositions, 3);
  for (const ScoreFunction& score : score_functions()) {
    const Shape shape = weight_shape(score);
    const Matrix<const double> weight =
        shape.empty() ? Matrix<const double>() : Matrix<const double>(w.data(), shape[0], shape[1]);
    for (const bool local : {false, true}) {
      StepKeys at = every_key();
      if (local) at.windows = kKeyWindows;
      Tape<double> tape;
      std::vector<Var<double>> in{tape.constant({q.data(), kQueries, kWidth}),
                                  tape.constant({k.data(), kKeys, kWidth})};
      if (weight.data) in.push_back(tape.constant(weight));
      const Matrix<const double> e = score_op(score, in, at).value();
      for (std::int64_t i = 0; i < kQueries; ++i) {
        const StepKeys::Seen seen = at.seen(i);
        const std::int64_t first = keys_packing().offset(kSentences[static_cast<std::size_t>(i)]);
        for (std::int64_t j = 0; j < e.cols; ++j) {
          BOOST_TEST_CONTEXT(score.name << " query " << i << " key " << j) {
            if (j < seen.column || j >= seen.column + seen.count) {
              BOOST_CHECK_EQUAL(e(i, j), -std::numeric_limits<double>::infinity());
              continue;
            }
            BOOST_CHECK_SMALL(e(i, j) - naive_score(score, q.data() + i * kWidth,
                                                    k.data() + (first + j) * kWidth, weight, j),
                              1e-13);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_and_weighted_sum_have_their_gradients) {
  const ScoreFunction& additive = score_function("additive");
  check_op("softmax", {{3, 5}}, [](const auto& in) { return softmax(in[0]); });
  check_op("weighted_sum", {{4, 6}, {10, 6}, {1, 6}, {10, 7}}, [&](const auto& in) {
    return weighted_sum(softmax(score_op(additive, {in[0], in[1], in[2]}, every_key())), in[3], every_key());
  });
}

BOOST_AUTO_TEST_CASE(local_attention_has_its_gradients) {
  check_op("predicted_positions", {{4, 3}, {1, 3}},
           [](const auto& in) { return predicted_positions(in[0], in[1], every_key()); });
  check_op("favour_near", {{4, 5}, {4, 1}},
           [](const auto& in) { return favour_near(in[0], in[1], 2, every_key()); });
}

BOOST_AUTO_TEST_CASE(weights_sum_to_one_and_stay_within_the_sentence) {  // P1
  const std::vector<double> q = random_values(4 * 6, 1), k = random_values(10 * 6, 2),
                            v = random_values(6, 3);
  Tape<double> tape;
  const Var<double> alpha = softmax(score_op(
      score_function("additive"),
      {tape.constant({q.data(), 4, 6}), tape.constant({k.data(), 10, 6}), tape.constant({v.data(), 1, 6})},
      every_key()));
  BOOST_TEST(alpha.cols() == 5);
  for (std::int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 5; ++j) {
      sum += alpha.value()(i, j);
      if (j >= keys_packing().length(kSentences[static_cast<std::size_t>(i)]))
        BOOST_TEST(alpha.value()(i, j) == 0);
    }
    BOOST_TEST(std::abs(sum - 1) < 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  const std::vector<double> zeros(100);
  Tape<double> tape;
  auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    return tape.constant({zeros.data(), rows, cols});
  };
  auto refused = [&](const char* name, const std::vector<Var<double>>& in) {
    BOOST_CHECK_THROW(score_op(score_function(name), in, every_key()), Error);
  };
  refused("additive", {matrix(4, 6), matrix(10, 5), matrix(1, 5)});
  refused("additive", {matrix(3, 6), matrix(10, 6), matrix(1, 6)});
  refused("additive", {matrix(4, 6), matrix(9, 6), matrix(1, 6)});
  refused("additive", {matrix(4, 6), matrix(10, 6), matrix(1, 5)});
  refused("dot", {matrix(4, 6), matrix(10, 5)});
  refused("location", {matrix(4, 6), matrix(10, 5), matrix(6, 4)});  // the longest sentence has 5 keys
  BOOST_CHECK_THROW(weighted_sum(matrix(3, 5), matrix(10, 6), every_key()), Error);
}

BOOST_AUTO_TEST_CASE(a_key_is_chosen_by_its_weight) {
  const std::vector<double> weights{0.25, 0, 0.5, 0.25}, none{0, 0};
  BOOST_CHECK_EQUAL(largest_key<double>(weights), 2);
  BOOST_CHECK_EQUAL(largest_key<double>(none), 0);
  const std::pair<double, std::int64_t> draws[] = {{0, 0},    {0.2, 0},  {0.3, 2},
                                                   {0.74, 2}, {0.75, 3}, {0.999, 3}};
  for (const auto& [u, key] : draws) BOOST_CHECK_EQUAL(drawn_key<double>(weights, u), key);
  BOOST_CHECK_EQUAL(drawn_key<double>(none, 0.5), 2);
  Tape<double> tape;
  const Var<double> alpha = tape.constant({weights.data(), 2, 2});
  const Matrix<const double> chosen = choose(alpha, {kExpected, 0}).value();
  BOOST_CHECK(chosen(0, 0) == 0.25 && chosen(0, 1) == 0 && chosen(1, 0) == 1 && chosen(1, 1) == 0);
  check_op("choose", {{2, 3}}, [](const auto& in) { return choose(in[0], {kExpected, 1}); });
}

BOOST_AUTO_TEST_SUITE_END()
