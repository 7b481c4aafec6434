// Every op's mirror image against central differences, in double, all sizes different.
#include "autograd/ops.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/special_ids.h"
#include "support/gradient_check.h"
#include "tensor/kernels.h"

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
constexpr Activation kAllActivations[] = {Activation::none,         Activation::relu, Activation::tanh,
                                          Activation::sigmoid,      Activation::gelu, Activation::gelu_tanh,
                                          Activation::gelu_sigmoid, Activation::silu};

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(linear_layers) {
  for (Activation f : kAllActivations) {
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

BOOST_AUTO_TEST_CASE(memory_of_gradients_is_used_again) {
  const std::vector<double> numbers = random_values(600, 4);
  std::vector<double> gradient(600);
  Tape<double> tape;
  tape.set_with_gradients(true);
  Var<double> y = tape.leaf({numbers.data(), 20, 30}, {gradient.data(), 20, 30});
  for (int i = 0; i < 10; ++i) y = add(scaled(y, 2.0), y);
  const std::size_t forward = tape.mark().memory.total;
  tape.backward(y);
  // At most those of a sum and of what is added are needed at a time.
  BOOST_TEST(tape.mark().memory.total - forward == 3 * 600 * sizeof(double));
  for (const double g : gradient) BOOST_REQUIRE_EQUAL(g, 59049);  // 3 to the 10
}

BOOST_AUTO_TEST_CASE(elementwise) {
  for (Activation f : kAllActivations) {
    OpCheck check;
    check.input(3, 5);
    check.run([&](auto v) { return activate(f, v[0]); });
    OpCheck slice;
    slice.input(3, 5);
    slice.run([&](auto v) { return activate(f, v[0].tape().columns(v[0], 1, 3)); });
  }
  OpCheck product;
  product.input(3, 5);
  product.input(3, 7);
  product.run([](auto v) { return multiply(v[0], v[0].tape().columns(v[1], 2, 5)); });
  OpCheck square;
  square.input(3, 5);
  square.run([](auto v) { return scaled(multiply(v[0], v[0]), 1.7); });
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
  // No row is zeros; an absent special piece is not meant by that.
  const std::vector<std::int32_t> none{kNoRow, 1}, absent{1, SpecialIds::kAbsent};
  const Matrix<const double> y =
      embedding(t, std::span(none), 1.0, Var<double>(), std::span(position)).value();
  BOOST_CHECK(y(0, 0) == 0 && y(1, 0) == 1);
  BOOST_CHECK_THROW(embedding(t, std::span(absent), 1.0, Var<double>(), std::span(position)), Error);
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

BOOST_AUTO_TEST_CASE(root_mean_square_normalisation) {
  for (const std::int64_t d : {6, 3}) {  // whole rows, heads
    OpCheck check;
    check.input(4, 8);
    check.input(1, d);
    check.run([](auto v) { return rms_norm(v[0].tape().columns(v[0], 1, 6), v[1], 1e-5); });
  }
  OpCheck fixed;
  fixed.input(4, 6);
  fixed.run([](auto v) {
    static const std::vector<double> gamma(6, 0.7);
    return rms_norm(v[0], v[0].tape().constant({gamma.data(), 1, 6}), 1e-5);
  });
  Tape<double> tape;
  const std::vector<double> x(12, 1.0);
  BOOST_CHECK_THROW(rms_norm(tape.constant({x.data(), 2, 6}), tape.constant({x.data(), 1, 4}), 1e-5), Error);
}

BOOST_AUTO_TEST_CASE(rotary_positions) {
  const std::vector<double> turns = random_values(5 * 4, 31);
  const std::vector<std::int32_t> position{0, 4, 2};
  OpCheck check;
  check.input(3, 10);
  check.run([&](auto v) {
    return rotate(v[0].tape().columns(v[0], 2, 8), {turns.data(), 5, 4}, position, 4);
  });
  check.run([&](auto v) {
    return rotate(v[0], {turns.data(), 5, 4}, position, 5);
  });  // one of five does not turn
  Tape<double> tape;
  const std::vector<double> x(12, 1.0);
  const std::vector<std::int32_t> beyond{0, 1, 5};
  BOOST_CHECK_THROW(rotate(tape.constant({x.data(), 3, 4}), {turns.data(), 5, 4}, beyond, 4), Error);
  BOOST_CHECK_THROW(rotate(tape.constant({x.data(), 2, 6}), {turns.data(), 5, 4}, position, 4), Error);
  BOOST_CHECK_THROW(rotate(tape.constant({x.data(), 3, 4}), {turns.data(), 5, 4}, position, 2), Error);
}

BOOST_AUTO_TEST_CASE(grouped_heads_with_bias_and_window) {
  const std::vector<std::int32_t> lengths{3, 1, 4};
  const Packing rows{std::span(lengths)};
  for (const auto& [window, causal] : {std::pair(0, true), {2, true}, {2, false}, {3, false}}) {
    for (const Dropout& drop : {Dropout{}, kDrop}) {
      OpCheck check;
      check.input(8, 12);  // 4 heads
      check.input(8, 6);   // 2 heads of keys
      check.input(8, 10);
      check.input(9, 4);  // distances -4 .. 4
      check.run([&](auto v) {
        AttentionOptions options;
        options.n_heads = 4;
        options.n_kv_heads = 2;
        options.scale = 0.6;
        options.causal = causal;
        options.window = window;
        options.drop = drop;
        return attention<double>(v[0], v[1], v[2], rows, rows, options, nullptr, v[3]).context;
      });
    }
  }
  // A group of heads is heads whose keys and values are equal.
  Tape<double> tape;
  const std::vector<double> q = random_values(8 * 12, 1), k = random_values(8 * 6, 2),
                            v = random_values(8 * 10, 3);
  std::vector<double> k_each, v_each;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t h = 0; h < 4; ++h) {
      k_each.insert(k_each.end(), &k[i * 6 + h / 2 * 3], &k[i * 6 + h / 2 * 3] + 3);
      v_each.insert(v_each.end(), &v[i * 10 + h / 2 * 5], &v[i * 10 + h / 2 * 5] + 5);
    }
  }
  AttentionOptions options;
  options.n_heads = 4;
  auto context = [&](const std::vector<double>& keys, const std::vector<double>& values) {
    const auto wide = [](const std::vector<double>& x) { return static_cast<std::int64_t>(x.size()) / 8; };
    return attention(tape.constant({q.data(), 8, 12}), tape.constant({keys.data(), 8, wide(keys)}),
                     tape.constant({values.data(), 8, wide(values)}), rows, rows, options)
        .context.value();
  };
  const Matrix<const double> each = context(k_each, v_each);
  options.n_kv_heads = 2;
  const Matrix<const double> grouped = context(k, v);
  BOOST_TEST(std::equal(each.data, each.data + each.size(), grouped.data));
  options.n_kv_heads = 3;
  BOOST_CHECK_THROW(context(k, v), Error);
}

// In the step of a search a sentence's bits do not depend on those beside it, which may have more queries.
BOOST_AUTO_TEST_CASE(attention_to_transposed_keys_is_of_each_sentence_alone) {
  const std::vector<std::int32_t> key_lengths{9000, 40, 3};
  for (const std::int32_t others : {3, 17}) {
    const std::vector<std::int32_t> query_lengths{2, 4, others};
    const Packing queries{std::span(query_lengths)}, keys{std::span(key_lengths)};
    const std::vector<double> q = random_values(queries.rows() * 8, 1), k = random_values(keys.rows() * 8, 2);
    const std::vector<float> q_values(q.begin(), q.end()), k_values(k.begin(), k.end());
    AttentionOptions options;
    options.n_heads = 2;
    options.scale = 0.6;
    std::vector<float> together, apart;
    const auto attend = [&](std::int64_t first, std::int64_t count, std::vector<float>& to) {
      Tape<float> tape;
      Packing own_queries, own_keys;
      for (std::int64_t s = first; s < first + count; ++s) {
        own_queries.append(queries.length(s));
        own_keys.append(keys.length(s));
      }
      const Var<float> x = tape.constant({&q_values[queries.offset(first) * 8], own_queries.rows(), 8}),
                       y = tape.constant({&k_values[keys.offset(first) * 8], own_keys.rows(), 8});
      const Matrix<const float> context = attention<float>(x, y, y, own_queries, own_keys, options, nullptr,
                                                           {}, keys_ahead<float>(y, own_keys))
                                              .context.value();
      to.insert(to.end(), context.data, context.data + context.size());
    };
    attend(0, 3, together);
    for (const std::int64_t s : {0, 1, 2}) attend(s, 1, apart);
    BOOST_TEST((together == apart));
  }
}

// Of a long sentence the backward pass computes the weights again; of a short one in the same pass they are
// kept.
BOOST_AUTO_TEST_CASE(long_sentences_have_their_gradients) {
  const std::vector<std::int32_t> lengths{130, 3};
  const Packing rows{std::span(lengths)};
  BOOST_REQUIRE(!attention_keeps_weights(130, 130));
  for (const auto& [window, causal] : {std::pair(100, true), {20, false}}) {
    OpCheck check;
    check.input(133, 4);  // 2 heads
    check.input(133, 2);  // of one head of keys
    check.input(133, 3);
    check.input(259, 2);
    check.run([&](auto v) {
      AttentionOptions options;
      options.n_heads = 2;
      options.n_kv_heads = 1;
      options.scale = 0.6;
      options.causal = causal;
      options.window = window;
      options.drop = kDrop;
      const AttentionResult<double> result =
          attention<double>(v[0], v[1], v[2], rows, rows, options, nullptr, v[3]);
      BOOST_TEST(result.weights.empty());
      return result.context;
    });
  }
}

BOOST_AUTO_TEST_CASE(memory_of_attention_grows_with_the_length_alone) {
  constexpr std::int64_t n = 8192, d = 8;  // all weights: 268 MB
  const auto peak_megabytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  const pid_t child = fork();  // whose peak begins with what is in use, not with the peak of earlier cases
  BOOST_REQUIRE(child >= 0);
  if (child > 0) {
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_REQUIRE(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 0, "wanted 0; 1: too much memory, 2: no gradient");
    return;
  }
  const std::vector<double> x = random_values(n * d, 1);
  const std::vector<float> values(x.begin(), x.end());
  std::vector<float> gradient(n * d);
  const long before = peak_megabytes();
  Tape<float> tape;
  tape.set_with_gradients(true);
  const Var<float> in = tape.leaf({values.data(), n, d}, {gradient.data(), n, d});
  Packing rows;
  rows.append(n);
  AttentionOptions options;
  options.causal = true;
  tape.backward(attention(in, in, in, rows, rows, options).context);
  const bool has_gradient = std::ranges::any_of(gradient, [](float g) { return g != 0; });
  _exit(peak_megabytes() - before >= 60 ? 1 : has_gradient ? 0 : 2);
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
  std::vector<double> states = random_values(n * d, 1), weight = random_values(d * vocabulary, 2),
                      bias = random_values(vocabulary, 3);
  for (const auto& [tied, biased] :
       {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
    const std::int64_t rows = tied ? vocabulary : d, cols = tied ? d : vocabulary;
    std::vector<double> d_states(states.size()), d_weight(weight.size()), d_bias(bias.size());
    auto loss = [&](bool backward) {
      Tape<double> tape;
      tape.set_with_gradients(backward);
      Var<double> x = tape.leaf({states.data(), n, d}, {d_states.data(), n, d});
      Var<double> w = tape.leaf({weight.data(), rows, cols}, {d_weight.data(), rows, cols});
      Var<double> b;
      if (biased) b = tape.leaf({bias.data(), 1, vocabulary}, {d_bias.data(), 1, vocabulary});
      const double fused = projected_cross_entropy<double>(x, w, tied, targets, 0.1, 0.25, nullptr, b).loss;
      tape.set_with_gradients(false);
      const double plain = cross_entropy<double>(logits_of(x, w, tied, b), targets, 0.1, 0.25).loss;
      BOOST_CHECK_CLOSE(fused, plain, 1e-10);
      return 0.25 * fused;
    };
    loss(true);
    if (biased) check_gradient("bias", bias, d_bias, [&] { return loss(false); });
    check_gradient("states", states, d_states, [&] { return loss(false); });
    check_gradient("weight", weight, d_weight, [&] { return loss(false); });
  }
}

BOOST_AUTO_TEST_CASE(two_readings_are_to_agree) {
  // More rows than a block holds, so that both halves are cut into blocks.
  const std::int64_t half = 131, n = 2 * half, d = 2, vocabulary = 11;
  const double consistency = 3, scale = 0.02;
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < n; ++i) targets.push_back(static_cast<std::int32_t>(i % half % vocabulary));
  std::vector<double> states = random_values(n * d, 1), weight = random_values(d * vocabulary, 2),
                      bias = random_values(vocabulary, 3);
  std::vector<double> d_states(states.size()), d_weight(weight.size()), d_bias(bias.size());
  auto loss = [&](bool backward) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    const Var<double> x = tape.leaf({states.data(), n, d}, {d_states.data(), n, d});
    const Var<double> w = tape.leaf({weight.data(), d, vocabulary}, {d_weight.data(), d, vocabulary});
    const Var<double> b = tape.leaf({bias.data(), 1, vocabulary}, {d_bias.data(), 1, vocabulary});
    const double both =
        consistent_cross_entropy<double>(x, w, false, targets, 0.1, consistency, scale, b).loss;
    tape.set_with_gradients(false);
    // The same from the definition of the divergence.
    const Var<double> logits = logits_of(x, w, false, b);
    double wanted = cross_entropy<double>(logits, targets, 0.1, scale).loss;
    std::vector<double> sums(n);
    log_sum_exp_rows<double>(logits.value(), sums);
    for (std::int64_t i = 0; i < half; ++i) {
      for (std::int64_t j = 0; j < vocabulary; ++j) {
        const double log_p = logits.value()(i, j) - sums[static_cast<std::size_t>(i)];
        const double log_q = logits.value()(i + half, j) - sums[static_cast<std::size_t>(i + half)];
        wanted += consistency / 2 * (std::exp(log_p) * (log_p - log_q) + std::exp(log_q) * (log_q - log_p));
      }
    }
    BOOST_CHECK_CLOSE(both, wanted, 1e-10);
    return scale * both;
  };
  loss(true);
  check_gradient("bias", bias, d_bias, [&] { return loss(false); });
  check_gradient("states", std::span(states).subspan(0, 20), std::span(d_states).subspan(0, 20),
                 [&] { return loss(false); });
  check_gradient("states", std::span(states).last(20), std::span(d_states).last(20),
                 [&] { return loss(false); });
  check_gradient("weight", weight, d_weight, [&] { return loss(false); });
}

BOOST_AUTO_TEST_CASE(of_a_part_of_the_tape_one_value_is_kept) {
  Tape<double> tape;
  const std::vector<double> numbers = random_values(6000, 4);
  const Var<double> x = tape.constant({numbers.data(), 60, 100});
  const Var<double> before = scaled(x, 2.0);
  const auto mark = tape.mark();
  BOOST_TEST((tape.keep_only(before, mark).value().data == before.value().data));  // made before the mark
  const double* place = nullptr;
  for (int turn = 0; turn < 5; ++turn) {
    scaled(tape.row_range(x, 0, 1), 1.0);  // a small one, so that what is kept overlaps its new place
    for (int i = 0; i < 3 * turn; ++i) scaled(x, 1.0);  // or many, which need more memory than there was
    const Var<double> sum = add(before, x);
    const std::int64_t first = turn % 2;
    const Var<double> kept = tape.keep_only(first > 0 ? tape.columns(sum, first, 90) : sum, mark);
    if (turn == 0) place = kept.value().data;
    BOOST_TEST((kept.value().data == place));
    for (std::int64_t i = 0; i < kept.rows(); ++i)
      for (std::int64_t j = 0; j < kept.cols(); ++j)
        BOOST_REQUIRE_EQUAL(kept.value()(i, j), 2 * x.value()(i, first + j) + x.value()(i, first + j));
  }
  for (std::int64_t i = 0; i < 60; ++i)
    for (std::int64_t j = 0; j < 100; ++j) BOOST_REQUIRE_EQUAL(before.value()(i, j), 2 * x.value()(i, j));
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
