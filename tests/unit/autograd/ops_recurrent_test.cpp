#include "autograd/ops_recurrent.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <vector>

#include "base/error.h"
#include "support/op_check.h"

using namespace heed;
using heed::test::check_op;

BOOST_AUTO_TEST_SUITE(ops_recurrent)

BOOST_AUTO_TEST_CASE(elementwise_ops_take_slices) {
  check_op("side_by_side", {{3, 7}, {3, 2}},
           [](const auto& in) { return side_by_side(in[0].tape().columns(in[0], 1, 4), in[1]); });
  check_op("maxout", {{4, 6}}, [](const auto& in) { return maxout(in[0]); });
}

BOOST_AUTO_TEST_CASE(rows_are_gathered_from_several_matrices) {
  check_op("select_rows", {{3, 5}, {2, 5}}, [](const auto& in) {
    return select_rows<double>({in[0], in[1]}, {{1, 1}, {0, 2}, {1, 0}, {0, 0}, {0, 1}, {1, 1}});
  });
}

BOOST_AUTO_TEST_CASE(a_step_layer_sums_its_weight_gradient_over_the_steps) {
  check_op("StepLinear", {{3, 4}, {4, 5}, {1, 5}, {5, 5}}, [](const auto& in) {
    Tape<double>& tape = in[0].tape();
    StepLinear<double> layer(in[1], 7, in[2]);  // one row more than is used
    Var<double> first = layer(in[0], tape.row_range(in[3], 1, 3));
    Var<double> second = layer(tape.columns(tape.row_range(first, 0, 2), 1, 4));
    return select_rows<double>({second, layer(tape.row_range(in[0], 2, 1))}, {{0, 0}, {1, 0}, {0, 1}});
  });
}

BOOST_AUTO_TEST_CASE(rows_are_scaled) {
  check_op("scale_rows", {{4, 5}, {4, 1}}, [](const auto& in) { return scale_rows(in[0], in[1]); });
}

BOOST_AUTO_TEST_CASE(a_mean_runs_along_each_sequence) {
  const std::vector<std::int32_t> lengths{3, 0, 2};
  const Packing rows(lengths);
  check_op("running_mean", {{5, 4}, {5, 4}, {3, 4}},
           [&](const auto& in) { return running_mean(in[0], in[1], rows, in[2]); });
  const std::vector<double> x{1, 2, 4, 8, 16}, f{0.5, 0.25, 1, 0, 0.5}, start{3, 5, 7};
  Tape<double> tape;
  const Matrix<const double> y =
      running_mean(tape.constant({x.data(), 5, 1}), tape.constant({f.data(), 5, 1}), rows,
                   tape.constant({start.data(), 3, 1}))
          .value();
  const std::vector<double> wanted{2, 2, 2, 8, 12};
  BOOST_TEST(std::vector<double>(y.data, y.data + 5) == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  const std::vector<double> zeros(100);
  Tape<double> tape;
  auto matrix = [&](std::int64_t rows, std::int64_t cols) {
    return tape.constant({zeros.data(), rows, cols});
  };
  BOOST_CHECK_THROW(maxout(matrix(2, 3)), Error);
  BOOST_CHECK_THROW(select_rows<double>({matrix(2, 3)}, {{0, 2}}), Error);
  const std::vector<std::int32_t> lengths{2, 1};
  const Packing rows(lengths);
  BOOST_CHECK_THROW(running_mean(matrix(3, 2), matrix(3, 2), rows, matrix(3, 2)), Error);
  BOOST_CHECK_THROW(running_mean(matrix(3, 2), matrix(3, 1), rows, matrix(2, 2)), Error);
  StepLinear<double> layer(matrix(3, 4), 2);
  BOOST_CHECK_THROW(layer(matrix(3, 3)), Error);
  BOOST_CHECK_THROW(layer(matrix(1, 2)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
