#include "autograd/ops_recurrent.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "base/bfloat16.h"
#include "base/error.h"
#include "support/gradient_check.h"
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

/// A layer of the cell rnn and one of StepLinear over steps of 12 rows, against loops in double over factors rounded to bfloat16:
/// h_t = tanh(x_t + h_(t-1) U), y_t = h_t W, and back.
BOOST_AUTO_TEST_CASE(steps_in_bfloat16_multiply_rounded_factors) {
  constexpr std::int64_t steps = 5, n = 12, d = 20, out = 18, rows = steps * n;
  const auto numbers = [](std::int64_t count, std::uint64_t stream, double size) {
    std::vector<float> x;
    for (const double value : heed::test::random_values(count, stream))
      x.push_back(static_cast<float>(size * value));
    return x;
  };
  const std::vector<float> x = numbers(rows * d, 1, 1), u = numbers(d * d, 2, 0.3),
                           w = numbers(d * out, 3, 0.3), projection = numbers(rows * out, 4, 1);
  std::vector<float> d_x(x.size()), d_u(u.size()), d_w(w.size());
  std::vector<std::int64_t> first;
  for (std::int64_t t = 0; t <= steps; ++t) first.push_back(t * n);

  Tape<float> tape;
  tape.set_with_gradients(true);
  tape.set_precision(Precision::bfloat16);
  CellParameters<float> cell;
  cell.cell = &cell_named("rnn");
  cell.recurrent = tape.leaf({u.data(), d, d}, {d_u.data(), d, d});
  const Var<float> h = cell_layer(cell, tape.leaf({x.data(), rows, d}, {d_x.data(), rows, d}), first);
  StepLinear<float> linear(tape.leaf({w.data(), d, out}, {d_w.data(), d, out}), rows);
  std::vector<Var<float>> y;
  std::vector<RowOf> all;
  for (std::int64_t t = 0; t < steps; ++t) {
    y.push_back(linear(tape.row_range(h, t * n, n)));
    for (std::int64_t i = 0; i < n; ++i) all.push_back({static_cast<std::int32_t>(t), i});
  }
  const Var<float> result = select_rows(y, all);
  copy_rows<float>({projection.data(), rows, out}, tape.gradient(result));
  tape.backward();

  // The loops. A sum in float32 is off by less than what decides how a factor is rounded, but for few of them.
  using Numbers = std::vector<double>;
  const auto nearest = [](double value) {
    return double{from_bfloat16(to_bfloat16(static_cast<float>(value)))};
  };
  const auto at = [](const auto& v, std::int64_t i) {
    return static_cast<double>(v[static_cast<std::size_t>(i)]);
  };
  Numbers h_wanted(rows * d), y_wanted(rows * out), d_sum(rows * d);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      double sum = at(x, i * d + j);
      for (std::int64_t k = 0; i >= n && k < d; ++k)
        sum += nearest(at(h_wanted, (i - n) * d + k)) * nearest(at(u, k * d + j));
      h_wanted[static_cast<std::size_t>(i * d + j)] = std::tanh(sum);
    }
    for (std::int64_t j = 0; j < out; ++j)
      for (std::int64_t k = 0; k < d; ++k)
        y_wanted[static_cast<std::size_t>(i * out + j)] +=
            nearest(at(h_wanted, i * d + k)) * nearest(at(w, k * out + j));
  }
  for (std::int64_t i = rows - 1; i >= 0; --i) {
    for (std::int64_t k = 0; k < d; ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < out; ++j)
        sum += nearest(at(projection, i * out + j)) * nearest(at(w, k * out + j));
      for (std::int64_t j = 0; i + n < rows && j < d; ++j)
        sum += nearest(at(d_sum, (i + n) * d + j)) * nearest(at(u, k * d + j));
      const double value = at(h_wanted, i * d + k);
      d_sum[static_cast<std::size_t>(i * d + k)] = sum * (1 - value * value);
    }
  }
  Numbers d_u_wanted(u.size()), d_w_wanted(w.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < d; ++k) {
      for (std::int64_t j = 0; i >= n && j < d; ++j)
        d_u_wanted[static_cast<std::size_t>(k * d + j)] +=
            nearest(at(h_wanted, (i - n) * d + k)) * nearest(at(d_sum, i * d + j));
      for (std::int64_t j = 0; j < out; ++j)
        d_w_wanted[static_cast<std::size_t>(k * out + j)] +=
            nearest(at(h_wanted, i * d + k)) * nearest(at(projection, i * out + j));
    }
  }
  const auto distance = [&](const auto& got, const Numbers& wanted) {
    double square = 0, difference = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      square += wanted[i] * wanted[i];
      difference += std::pow(got[i] - wanted[i], 2);
    }
    return std::sqrt(difference / square);
  };
  const std::vector<float> y_got(result.value().data, result.value().data + rows * out);
  BOOST_TEST(distance(y_got, y_wanted) < 2e-4);  // 2e-3 where one factor is not rounded
  BOOST_TEST(distance(d_x, d_sum) < 2e-4);
  BOOST_TEST(distance(d_u, d_u_wanted) < 2e-4);
  BOOST_TEST(distance(d_w, d_w_wanted) < 2e-4);
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
