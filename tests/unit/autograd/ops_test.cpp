// Every op's mirror image against central differences, in double, all sizes different.
#include "autograd/ops.h"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "support/gradient_check.h"

using namespace heed;
using heed::test::check_gradient;
using heed::test::random_values;

namespace {

/// Inputs with room for their gradients, and a loss that weighs every output element differently.
class OpCheck {
 public:
  std::size_t input(std::int64_t rows, std::int64_t cols) {
    inputs_.push_back({rows, cols, random_values(rows * cols, inputs_.size() + 1), {}});
    return inputs_.size() - 1;
  }
  /// `op` maps leaves (one for each input, in order) to the output.
  void run(const std::function<Var<double>(std::vector<Var<double>>)>& op) {
    auto loss = [&](bool backward) {
      Tape<double> tape;
      tape.set_with_gradients(backward);
      std::vector<Var<double>> leaves;
      for (Input& in : inputs_) {
        in.gradient.assign(in.values.size(), 0.0);
        leaves.push_back(
            tape.leaf({in.values.data(), in.rows, in.cols}, {in.gradient.data(), in.rows, in.cols}));
      }
      Var<double> y = op(leaves);
      Matrix<const double> out = y.value();
      const std::vector<double> weight = random_values(out.size(), 99);
      double total = 0;
      for (std::int64_t i = 0; i < out.rows; ++i) {
        for (std::int64_t j = 0; j < out.cols; ++j)
          total += weight[static_cast<std::size_t>(i * out.cols + j)] * out(i, j);
      }
      if (backward) {
        Matrix<double> d_y = tape.gradient(y);
        for (std::int64_t i = 0; i < out.rows; ++i) {
          for (std::int64_t j = 0; j < out.cols; ++j)
            d_y(i, j) = weight[static_cast<std::size_t>(i * out.cols + j)];
        }
        tape.backward();
      }
      return total;
    };
    loss(true);
    std::vector<std::vector<double>> gradients;
    for (const Input& in : inputs_) gradients.push_back(in.gradient);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      check_gradient("input " + std::to_string(i), inputs_[i].values, gradients[i],
                     [&] { return loss(false); });
    }
  }

 private:
  struct Input {
    std::int64_t rows, cols;
    std::vector<double> values, gradient;
  };
  std::vector<Input> inputs_;
};

const Dropout kDrop = make_dropout(0.4, 3, 17);

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(linear_layers) {
  for (Activation f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    for (const Dropout& drop : {Dropout{}, kDrop}) {
      OpCheck check;
      check.input(5, 3);
      check.input(3, 7);
      check.input(1, 7);
      check.run([&](auto v) { return linear(v[0], v[1], v[2], f, drop); });
    }
  }
  OpCheck without_bias;
  without_bias.input(2, 3);
  without_bias.input(3, 4);
  without_bias.run([](auto v) { return linear(v[0], v[1], Var<double>()); });
}

BOOST_AUTO_TEST_CASE(a_value_used_twice_gets_both_gradients) {
  OpCheck check;
  check.input(3, 4);
  check.input(4, 4);
  check.run([](auto v) {
    return add(linear(v[0], v[1], Var<double>()), linear(v[0], v[1], Var<double>(), Activation::tanh));
  });
}

BOOST_AUTO_TEST_CASE(elementwise) {
  for (Activation f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    OpCheck check;
    check.input(3, 5);
    check.run([&](auto v) { return activate(f, v[0]); });
  }
  OpCheck dropped;
  dropped.input(6, 5);
  dropped.run([](auto v) { return drop_out(v[0], kDrop); });
  OpCheck sum;
  sum.input(4, 5);
  sum.input(4, 5);
  sum.run([](auto v) { return add_dropped(v[0], v[1], kDrop); });
}

BOOST_AUTO_TEST_CASE(embeddings) {
  const std::vector<std::int32_t> ids{4, 1, 4, 0, 2}, position{0, 1, 2, 0, 1};
  for (const Dropout& drop : {Dropout{}, kDrop}) {
    OpCheck check;
    check.input(6, 3);
    check.input(4, 3);
    check.run([&](auto v) { return embedding(v[0], std::span(ids), 1.7, v[1], std::span(position), drop); });
  }
  Tape<double> tape;
  const std::vector<double> table(6, 1.0);
  Var<double> t = tape.constant({table.data(), 2, 3});
  BOOST_CHECK_THROW(embedding(t, std::span(ids), 1.0, Var<double>(), std::span(position)), Error);
}

BOOST_AUTO_TEST_CASE(layer_normalisation) {
  OpCheck plain;
  plain.input(3, 7);
  plain.input(1, 7);
  plain.input(1, 7);
  plain.run([](auto v) { return add_layer_norm(v[0], Var<double>(), Dropout{}, v[1], v[2], 1e-5).output; });
  for (const Dropout& drop : {Dropout{}, kDrop}) {
    OpCheck residual;
    residual.input(3, 7);
    residual.input(3, 7);
    residual.input(1, 7);
    residual.input(1, 7);
    residual.run([&](auto v) { return add_layer_norm(v[0], v[1], drop, v[2], v[3], 1e-5).output; });
  }
}

BOOST_AUTO_TEST_CASE(attention_over_packed_sentences) {
  const std::vector<std::int32_t> query_lengths{3, 1, 4}, key_lengths{5, 2, 6};
  const Packing queries{std::span(query_lengths)}, keys{std::span(key_lengths)};
  for (bool causal : {false, true}) {
    for (const Dropout& drop : {Dropout{}, kDrop}) {
      OpCheck check;
      check.input(8, 6);
      check.input(13, 6);
      check.input(13, 10);
      check.run([&](auto v) {
        AttentionOptions options;
        options.n_heads = 2;
        options.scale = 0.6;
        options.causal = causal;
        options.drop = drop;
        return attention(v[0], v[1], v[2], queries, keys, options).context;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(self_attention_shares_one_projection) {
  const std::vector<std::int32_t> lengths{3, 1, 4};
  const Packing rows{std::span(lengths)};
  OpCheck check;
  check.input(8, 18);
  check.run([&](auto v) {
    Tape<double>& tape = v[0].tape();
    AttentionOptions options;
    options.n_heads = 3;
    options.causal = true;
    return attention(tape.columns(v[0], 0, 6), tape.columns(v[0], 6, 6), tape.columns(v[0], 12, 6), rows,
                     rows, options)
        .context;
  });
}

BOOST_AUTO_TEST_CASE(cross_entropy_with_label_smoothing) {
  const std::int64_t n = 5, d = 3, vocabulary = 7;
  const std::vector<std::int32_t> targets{6, 0, 3, 3, 1};
  std::vector<double> states = random_values(n * d, 1), weight = random_values(d * vocabulary, 2);
  for (bool tied : {false, true}) {
    const std::int64_t rows = tied ? vocabulary : d, cols = tied ? d : vocabulary;
    std::vector<double> d_states(states.size()), d_weight(weight.size());
    auto loss = [&](bool backward) {
      Tape<double> tape;
      tape.set_with_gradients(backward);
      Var<double> x = tape.leaf({states.data(), n, d}, {d_states.data(), n, d});
      Var<double> w = tape.leaf({weight.data(), rows, cols}, {d_weight.data(), rows, cols});
      return 0.25 * projected_cross_entropy<double>(x, w, tied, targets, 0.1, 0.25).loss;
    };
    loss(true);
    check_gradient("states", states, d_states, [&] { return loss(false); });
    check_gradient("weight", weight, d_weight, [&] { return loss(false); });
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
  Tape<double> tape;
  const std::vector<double> zeros(100);
  Var<double> x = tape.constant({zeros.data(), 5, 3}), w = tape.constant({zeros.data(), 4, 7});
  BOOST_CHECK_EXCEPTION(linear(x, w, Var<double>()), Error, [](const Error& e) {
    return std::string(e.what()).find("[5, 3]") != std::string::npos;
  });
  BOOST_CHECK_THROW(add(x, w), Error);
}

BOOST_AUTO_TEST_SUITE_END()
