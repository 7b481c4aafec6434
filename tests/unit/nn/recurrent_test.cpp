#include "nn/recurrent.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "base/error.h"
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

  /// The layer as one operation.
  static RecurrentOutput<double> fused(const Scope<double>& scope, const Layer& layer, Var<double> x,
                                       Var<double> first, Var<double> extra) {
    return recurrent(scope, layer.sizes, x, kRows, layer.direction, first, extra);
  }
  /// The same by RecurrentSteps.
  static RecurrentOutput<double> stepwise(const Scope<double>& scope, const Layer& layer, Var<double> x,
                                          Var<double> first, Var<double> extra) {
    const StepOrder order(kRows, layer.direction);
    Tape<double>& tape = scope.tape();
    RecurrentSteps<double> steps(scope, layer.sizes, order.rows());
    auto in_time = [&](Var<double> v) { return select_rows<double>({v}, order.to_time_order()); };
    Var<double> input = in_time(steps.input(x)), state = select_rows<double>({first}, order.to_first_step());
    extra = in_time(extra);
    std::vector<Var<double>> states, hidden;
    for (std::int64_t t = 0; t < order.steps(); ++t) {
      const std::int64_t at = order.first(t), n = order.active(t);
      state =
          steps.step(tape.row_range(input, at, n), tape.row_range(state, 0, n), tape.row_range(extra, at, n));
      states.push_back(state);
      hidden.push_back(steps.hidden(state));
    }
    std::vector<RowOf> last;
    for (RowOf row : order.to_last_step()) {
      std::int32_t t = 0;
      while (order.first(t + 1) <= row.row) ++t;
      last.push_back({t, row.row - order.first(t)});
    }
    return {select_rows(hidden, order.to_packed()), select_rows(states, last)};
  }

  using Run = decltype(&fused);
  double loss(bool backward, Run run = &Layer::fused) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    Pass<double> pass(tape, parameters);
    pass.gradients = backward ? gradients.data() : nullptr;
    pass.training = true;
    pass.seed = 3;
    auto leaf = [&](std::vector<double>& value, std::vector<double>& gradient, std::int64_t rows) {
      const std::int64_t cols = static_cast<std::int64_t>(value.size()) / rows;
      return tape.leaf({value.data(), rows, cols}, {gradient.data(), rows, cols});
    };
    const RecurrentOutput<double> out =
        run(Scope<double>(pass) / "layer", *this, leaf(x, d_x, kRows.rows()),
            sizes.learned_start ? Var<double>() : leaf(first, d_first, kRows.sentences()),
            leaf(extra, d_extra, kRows.rows()));
    outputs.clear();
    double sum = 0;
    std::uint64_t stream = 10;
    for (Var<double> y : {out.h, out.last}) {
      for (std::int64_t i = 0; i < y.rows(); ++i)
        outputs.insert(outputs.end(), y.value().row(i), y.value().row(i) + y.cols());
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
      check_gradient(name, values, gradient, [&] { return loss(false); });
    };
    check("x", x, d_x);
    if (!sizes.learned_start) check("first", first, d_first);
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
  std::vector<double> x, first, extra, d_x, d_first, d_extra, gradients, outputs;
};

/// Every cell, plain and with each of its options.
std::vector<RecurrentSizes> all_layers() {
  std::vector<RecurrentSizes> list;
  for (const std::string& cell : cell_names()) {
    const RecurrentSizes plain{cell, kHidden};
    list.push_back(plain);
    for (auto option : {&RecurrentSizes::layer_norm, &RecurrentSizes::learned_start}) {
      list.push_back(plain);
      list.back().*option = true;
    }
    list.push_back(plain);
    list.back().dropout = 0.4;
  }
  RecurrentSizes lstm{"lstm", kHidden};
  lstm.peepholes = true;
  list.push_back(lstm);
  lstm.layer_norm = true;
  lstm.dropout = 0.3;
  list.push_back(lstm);
  return list;
}

std::string describe(const RecurrentSizes& sizes) {
  return sizes.cell + (sizes.peepholes ? ", peepholes" : "") + (sizes.layer_norm ? ", layer norm" : "") +
         (sizes.learned_start ? ", learned start" : "") + (sizes.dropout > 0 ? ", dropout" : "");
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent_layer)

BOOST_AUTO_TEST_CASE(gradients_of_inputs_states_and_parameters) {
  for (const RecurrentSizes& sizes : all_layers()) {
    for (Direction direction : {Direction::forward, Direction::backward}) {
      BOOST_TEST_CONTEXT(describe(sizes)) {
        Layer(sizes, direction).check_gradients();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(one_operation_equals_the_steps) {
  for (const RecurrentSizes& sizes : all_layers()) {
    if (sizes.learned_start) continue;  // RecurrentSteps are given their start
    BOOST_TEST_CONTEXT(describe(sizes)) {
      Layer whole(sizes, Direction::backward), steps(sizes, Direction::backward);
      whole.loss(true);
      steps.loss(true, &Layer::stepwise);
      BOOST_CHECK_SMALL(difference(whole.outputs, steps.outputs), 1e-14);
      BOOST_CHECK_SMALL(difference(whole.gradients, steps.gradients), 1e-13);
      BOOST_CHECK_SMALL(difference(whole.d_x, steps.d_x), 1e-13);
      BOOST_CHECK_SMALL(difference(whole.d_first, steps.d_first), 1e-13);
      BOOST_CHECK_SMALL(difference(whole.d_extra, steps.d_extra), 1e-13);
    }
  }
}

/// What every sentence of a batch gives, one after the other: h and last.
std::vector<double> sentence_by_sentence(Layer& layer, bool apart) {
  std::vector<double> values;
  const std::int64_t gates = layer.gate_width(), width = layer.sizes.state_width();
  auto run = [&](std::int64_t first_sentence, std::int64_t sentences) {
    Packing rows;
    for (std::int64_t s = first_sentence; s < first_sentence + sentences; ++s) rows.append(kRows.length(s));
    const std::int64_t at = kRows.offset(first_sentence);
    Tape<double> tape;
    Pass<double> pass(tape, layer.parameters);
    const auto out =
        recurrent(Scope<double>(pass) / "layer", layer.sizes,
                  tape.constant({layer.x.data() + at * kInput, rows.rows(), kInput}), rows, layer.direction,
                  tape.constant({layer.first.data() + first_sentence * width, sentences, width}),
                  tape.constant({layer.extra.data() + at * gates, rows.rows(), gates}));
    for (std::int64_t s = 0; s < sentences; ++s) {
      for (std::int64_t i = rows.offset(s); i < rows.offset(s + 1); ++i)
        values.insert(values.end(), out.h.value().row(i), out.h.value().row(i) + kHidden);
      values.insert(values.end(), out.last.value().row(s), out.last.value().row(s) + width);
    }
  };
  if (!apart) run(0, kRows.sentences());
  for (std::int64_t s = 0; apart && s < kRows.sentences(); ++s) run(s, 1);
  return values;
}

BOOST_AUTO_TEST_CASE(sentences_do_not_touch_each_other) {
  for (const RecurrentSizes& sizes : all_layers()) {
    for (Direction direction : {Direction::forward, Direction::backward}) {
      Layer layer(sizes, direction);
      BOOST_CHECK_SMALL(difference(sentence_by_sentence(layer, false), sentence_by_sentence(layer, true)),
                        1e-12);
    }
  }
}

/// h = tanh(10 m h') from h = 1: a unit is 0 from the first step that drops it, and kept ones stay at 1.
BOOST_AUTO_TEST_CASE(dropout_keeps_its_mask_for_all_steps_of_a_sentence) {
  constexpr std::int64_t d = 40, steps = 12;
  RecurrentSizes sizes{"rnn", d};
  sizes.dropout = 0.5;
  ParameterSet<double> parameters;
  add_recurrent(parameters, "layer", sizes, 1, {Init::zeros(), Init::zeros(), Init::zeros()});
  const Matrix<double> u = parameters.view("layer/recurrent/candidate/weight");
  for (std::int64_t i = 0; i < d; ++i) u(i, i) = 10;
  const Packing rows(std::vector<std::int32_t>{steps, steps});
  const std::vector<double> x(2 * steps, 0.0), ones(2 * d, 1.0);
  Tape<double> tape;
  Pass<double> pass(tape, parameters);
  pass.training = true;
  const Matrix<const double> h =
      recurrent(Scope<double>(pass) / "layer", sizes, tape.constant({x.data(), 2 * steps, 1}), rows,
                Direction::forward, tape.constant({ones.data(), 2, d}))
          .h.value();
  auto kept = [&](std::int64_t row, std::int64_t j) { return h(row, j) > 0.5; };
  std::int64_t count = 0, differ = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    for (std::int64_t t = 1; t < steps; ++t) {
      BOOST_CHECK_EQUAL(kept(t, j), kept(0, j));
      BOOST_CHECK_EQUAL(kept(steps + t, j), kept(steps, j));
    }
    count += kept(0, j);
    differ += kept(0, j) != kept(steps, j);
  }
  BOOST_CHECK(count > 5 && count < 35);
  BOOST_CHECK_GT(differ, 5);
}

BOOST_AUTO_TEST_CASE(only_the_lstm_has_peepholes) {
  RecurrentSizes sizes{"gru", kHidden};
  sizes.peepholes = true;
  BOOST_CHECK_THROW(Layer{sizes}, UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
