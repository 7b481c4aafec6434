#include "nn/recurrent.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "support/gradient_check.h"

using namespace heed;
using heed::test::check_gradient;
using heed::test::random_values;

namespace {

const Packing kRows(std::vector<std::int32_t>{3, 1, 5, 3});
constexpr std::int64_t kInput = 3, kHidden = 5;

/// A layer with its inputs, and what a random projection of its outputs sends back into them.
struct Layer {
  explicit Layer(const RecurrentSizes& layer_sizes, Direction way = Direction::forward)
      : sizes(layer_sizes), direction(way) {
    const Init weight = Init::normal(0.4);
    add_recurrent(parameters, "layer", sizes, kInput, {weight, weight, weight});
    parameters.initialize(5);
    gradients.assign(parameters.values().size(), 0);
    x = random_values(kRows.rows() * kInput, 1);
    first = random_values(kRows.sentences() * sizes.state_width(), 2);
    extra = random_values(kRows.rows() * gate_width(), 3);
    d_x.assign(x.size(), 0);
    d_first.assign(first.size(), 0);
    d_extra.assign(extra.size(), 0);
  }

  std::int64_t gate_width() const { return static_cast<std::int64_t>(sizes.gates().size()) * kHidden; }

  double loss(bool backward) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    Pass<double> pass;
    pass.tape = &tape;
    pass.parameters = &parameters;
    pass.gradients = backward ? gradients.data() : nullptr;
    pass.training = true;
    auto leaf = [&](std::vector<double>& value, std::vector<double>& gradient, std::int64_t rows) {
      const std::int64_t cols = static_cast<std::int64_t>(value.size()) / rows;
      return tape.leaf({value.data(), rows, cols}, {gradient.data(), rows, cols});
    };
    const auto out =
        recurrent(Scope<double>(pass) / "layer", sizes, leaf(x, d_x, kRows.rows()), kRows, direction,
                  leaf(first, d_first, kRows.sentences()), leaf(extra, d_extra, kRows.rows()));
    double sum = 0;
    std::uint64_t stream = 10;
    for (Var<double> y : {out.h, out.last}) {
      const std::vector<double> projection = random_values(y.value().size(), ++stream);
      for (std::int64_t i = 0; i < y.rows(); ++i) {
        for (std::int64_t j = 0; j < y.cols(); ++j) {
          const double share = projection[static_cast<std::size_t>(i * y.cols() + j)];
          if (backward) tape.gradient(y)(i, j) = share;
          sum += share * y.value()(i, j);
        }
      }
    }
    if (backward) tape.backward();
    return sum;
  }

  /// Every element of every input and parameter.
  void check_gradients() {
    loss(true);
    auto check = [&](const std::string& name, std::span<double> values, std::span<const double> gradient) {
      check_gradient(sizes.cell + ", " + name, values, gradient, [&] { return loss(false); });
    };
    check("x", x, d_x);
    check("first", first, d_first);
    check("extra", extra, d_extra);
    for (const Parameter& p : parameters.list()) {
      const Matrix<double> values = p.in(parameters.values().data()), d = p.in(gradients.data());
      const auto width = static_cast<std::size_t>(p.cols);
      for (std::int64_t i = 0; i < p.rows; ++i) check(p.name, {values.row(i), width}, {d.row(i), width});
    }
  }

  RecurrentSizes sizes;
  Direction direction;
  ParameterSet<double> parameters;
  std::vector<double> x, first, extra, d_x, d_first, d_extra, gradients;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent_layer)

BOOST_DATA_TEST_CASE(gradients_of_inputs_states_and_parameters, boost::unit_test::data::make(cell_names()),
                     cell) {
  for (Direction direction : {Direction::forward, Direction::backward}) {
    Layer({cell, kHidden}, direction).check_gradients();
  }
}

BOOST_AUTO_TEST_SUITE_END()
