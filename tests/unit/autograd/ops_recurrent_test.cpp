#include "autograd/ops_recurrent.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <vector>

#include "base/error.h"
#include "support/gradient_check.h"

using namespace heed;
using heed::test::check_gradient;
using heed::test::random_values;

namespace {

struct Input {
  std::int64_t rows, cols;
  std::vector<double> values, gradient;
};

/// Checks every element of every input of `op`; the loss is a random projection of its output.
void check_op(const std::string& name, std::vector<Input> inputs,
              const std::function<Var<double>(const std::vector<Var<double>>&)>& op) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].values = random_values(inputs[i].rows * inputs[i].cols, i + 1);
    inputs[i].gradient.assign(inputs[i].values.size(), 0);
  }
  auto loss = [&](bool backward) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    std::vector<Var<double>> leaves;
    for (Input& in : inputs) {
      leaves.push_back(
          tape.leaf({in.values.data(), in.rows, in.cols}, {in.gradient.data(), in.rows, in.cols}));
    }
    Var<double> y = op(leaves);
    const std::vector<double> projection = random_values(y.value().size(), 99);
    double sum = 0;
    for (std::int64_t i = 0; i < y.rows(); ++i) {
      for (std::int64_t j = 0; j < y.cols(); ++j) {
        const double share = projection[static_cast<std::size_t>(i * y.cols() + j)];
        if (backward) tape.gradient(y)(i, j) = share;
        if (y.value()(i, j) > -1e300) sum += share * y.value()(i, j);  // scores behind a sentence's end
      }
    }
    if (backward) tape.backward();
    return sum;
  };
  loss(true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_gradient(name + ", input " + std::to_string(i), inputs[i].values, inputs[i].gradient,
                   [&] { return loss(false); });
  }
}

const std::vector<std::int64_t> kSentences{2, 0, 2, 1};  // two queries share a sentence
Packing keys_packing() {
  return Packing(std::vector<std::int32_t>{3, 5, 2});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops_recurrent)

BOOST_AUTO_TEST_CASE(elementwise_ops_take_slices) {
  check_op("side_by_side", {{3, 7, {}, {}}, {3, 2, {}, {}}},
           [](const auto& in) { return side_by_side(in[0].tape().columns(in[0], 1, 4), in[1]); });
  check_op("maxout", {{4, 6, {}, {}}}, [](const auto& in) { return maxout(in[0]); });
}

BOOST_AUTO_TEST_CASE(rows_are_gathered_from_several_matrices) {
  check_op("select_rows", {{3, 5, {}, {}}, {2, 5, {}, {}}}, [](const auto& in) {
    return select_rows<double>({in[0], in[1]}, {{1, 1}, {0, 2}, {1, 0}, {0, 0}, {0, 1}, {1, 1}});
  });
}

BOOST_AUTO_TEST_CASE(a_step_layer_sums_its_weight_gradient_over_the_steps) {
  check_op(
      "StepLinear", {{3, 4, {}, {}}, {4, 5, {}, {}}, {1, 5, {}, {}}, {5, 5, {}, {}}}, [](const auto& in) {
        Tape<double>& tape = in[0].tape();
        StepLinear<double> layer(in[1], 7, in[2]);  // one row more than is used
        Var<double> first = layer(in[0], tape.row_range(in[3], 1, 3));
        Var<double> second = layer(tape.columns(tape.row_range(first, 0, 2), 1, 4));
        return select_rows<double>({second, layer(tape.row_range(in[0], 2, 1))}, {{0, 0}, {1, 0}, {0, 1}});
      });
}

BOOST_AUTO_TEST_CASE(attention_ops) {
  const Packing keys = keys_packing();
  const StepKeys at{kSentences, &keys};
  check_op("additive_scores", {{4, 6, {}, {}}, {10, 6, {}, {}}, {1, 6, {}, {}}},
           [&](const auto& in) { return additive_scores(in[0], in[1], in[2], at); });
  check_op("softmax", {{3, 5, {}, {}}}, [](const auto& in) { return softmax(in[0]); });
  check_op("weighted_sum", {{4, 6, {}, {}}, {10, 6, {}, {}}, {1, 6, {}, {}}, {10, 7, {}, {}}},
           [&](const auto& in) {
             return weighted_sum(softmax(additive_scores(in[0], in[1], in[2], at)), in[3], at);
           });
}

BOOST_AUTO_TEST_CASE(weights_sum_to_one_and_stay_within_the_sentence) {  // P1
  const Packing keys = keys_packing();
  const std::vector<double> q = random_values(4 * 6, 1), k = random_values(10 * 6, 2),
                            v = random_values(6, 3);
  Tape<double> tape;
  Var<double> alpha =
      softmax(additive_scores(tape.constant({q.data(), 4, 6}), tape.constant({k.data(), 10, 6}),
                              tape.constant({v.data(), 1, 6}), StepKeys{kSentences, &keys}));
  BOOST_TEST(alpha.cols() == 5);
  for (std::int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 5; ++j) {
      sum += alpha.value()(i, j);
      if (j >= keys.length(kSentences[static_cast<std::size_t>(i)])) BOOST_TEST(alpha.value()(i, j) == 0);
    }
    BOOST_TEST(std::abs(sum - 1) < 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  const Packing keys = keys_packing();
  const std::vector<double> zeros(100);
  Tape<double> tape;
  auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    return tape.constant({zeros.data(), rows, cols});
  };
  const StepKeys at{kSentences, &keys};
  BOOST_CHECK_THROW(maxout(matrix(2, 3)), Error);
  BOOST_CHECK_THROW(select_rows<double>({matrix(2, 3)}, {{0, 2}}), Error);
  BOOST_CHECK_THROW(additive_scores(matrix(4, 6), matrix(10, 5), matrix(1, 5), at), Error);
  BOOST_CHECK_THROW(additive_scores(matrix(3, 6), matrix(10, 6), matrix(1, 6), at), Error);
  BOOST_CHECK_THROW(weighted_sum(matrix(3, 5), matrix(10, 6), at), Error);
  BOOST_CHECK_THROW(additive_scores(matrix(4, 6), matrix(9, 6), matrix(1, 6), at), Error);
  StepLinear<double> layer(matrix(3, 4), 2);
  BOOST_CHECK_THROW(layer(matrix(3, 3)), Error);
  BOOST_CHECK_THROW(layer(matrix(1, 2)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
