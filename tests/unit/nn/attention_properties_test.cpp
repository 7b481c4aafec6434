// Claims (scripts/claim_experiments/README.md) about attention, on the operation that the models use.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "attend_op.h"
#include "nn/attention/multi_head_attention.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr float kEps = std::numeric_limits<float>::epsilon();

/// Keeps the context of every attention of a pass.
struct ContextRecorder final : Recorder<double> {
  std::vector<double> context;
  bool wants(const std::string& name) const override { return name.ends_with("/context"); }
  void record(const std::string&, Matrix<const double> value, std::span<const Place>,
              const RowKind&) override {
    context.assign(value.data, value.data + value.size());
  }
  void record_attention(const std::string&, std::span<const double>, const Place&, std::int64_t,
                        const AttentionKind&) override {}
};

/// A self-attention layer with parameters of its own.
class Layer {
 public:
  Layer(std::int64_t d, std::int64_t heads) : d_(d), heads_(heads) {
    add_self_attention(parameters, "attention", d, {heads, 0.0});
    parameters.initialize(11);
  }
  void set(const std::string& name, double diagonal) {
    Matrix<double> matrix = parameters.view("attention/" + name);
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
      for (std::int64_t j = 0; j < matrix.cols; ++j) matrix(i, j) = i == j ? diagonal : 0;
    }
  }
  std::vector<double> run(const std::vector<double>& x, bool causal = false) {
    Tape<double> tape;
    Pass<double> pass(tape, parameters);
    pass.recorder = &recorder;
    Packing rows;
    rows.append(static_cast<std::int64_t>(x.size()) / d_);
    const Var<double> y =
        self_attention(Scope<double>(pass) / "attention", tape.constant({x.data(), rows.rows(), d_}), rows,
                       causal, {heads_, 0.0});
    return {y.value().data, y.value().data + y.value().size()};
  }

  ParameterSet<double> parameters;
  ContextRecorder recorder;

 private:
  std::int64_t d_, heads_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_properties)

BOOST_AUTO_TEST_CASE(p1_weights_are_positive_and_sum_to_one) {
  for (const std::int64_t n : {1, 2, 7, 512}) {
    const Sizes sizes{n, n, 5, 3};
    std::vector<float> q = random_rows<float>(n, 5, 1), k = random_rows<float>(n, 5, 2);
    float largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float dot = 0;
        for (std::int64_t c = 0; c < 5; ++c)
          dot += q[static_cast<std::size_t>(i * 5 + c)] * k[static_cast<std::size_t>(j * 5 + c)];
        largest = std::max(largest, std::abs(dot));
      }
    }
    for (const double reach : {1.0, 1e4}) {  // the largest score
      const Attended<float> y = attend_op(sizes, q, k, random_rows<float>(n, 3, 3), reach / largest);
      BOOST_REQUIRE_EQUAL(y.weights.size(), static_cast<std::size_t>(n * n));
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const float weight = y.weights[static_cast<std::size_t>(i * n + j)];
          BOOST_REQUIRE(weight >= 0 && weight <= 1);
          sum += weight;
        }
        BOOST_REQUIRE_LE(std::abs(sum - 1), static_cast<double>(n) * kEps);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(p2_context_is_a_weighted_average) {
  const std::int64_t n = 6, m = 9, d_v = 4;
  const std::vector<float> v = random_rows<float>(m, d_v, 6);
  const Attended<float> y =
      attend_op({n, m, 5, d_v}, random_rows<float>(n, 5, 4), random_rows<float>(m, 5, 5), v, 1.0);
  for (std::int64_t c = 0; c < d_v; ++c) {
    float low = v[static_cast<std::size_t>(c)], high = low;
    for (std::int64_t j = 0; j < m; ++j) {
      low = std::min(low, v[static_cast<std::size_t>(j * d_v + c)]);
      high = std::max(high, v[static_cast<std::size_t>(j * d_v + c)]);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = y.context[static_cast<std::size_t>(i * d_v + c)];
      BOOST_CHECK_GE(x, low - 8 * kEps);
      BOOST_CHECK_LE(x, high + 8 * kEps);
    }
  }
}

BOOST_AUTO_TEST_CASE(p3_attention_is_an_expectation) {
  const std::int64_t m = 8, d_v = 3, draws = 100000;
  const std::vector<double> v = random_rows<double>(m, d_v, 9);
  const Attended<double> y =
      attend_op({1, m, 5, d_v}, random_rows<double>(1, 5, 7), random_rows<double>(m, 5, 8), v, 0.5);
  std::vector<double> sum(d_v), squares(d_v);
  Random random(3, 1);
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    double left = random.uniform();
    std::size_t key = 0;
    while (key + 1 < static_cast<std::size_t>(m) && left >= y.weights[key]) left -= y.weights[key++];
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double x = v[key * static_cast<std::size_t>(d_v) + c];
      sum[c] += x;
      squares[c] += x * x;
    }
  }
  for (std::size_t c = 0; c < sum.size(); ++c) {
    const double mean = sum[c] / draws, variance = squares[c] / draws - mean * mean;
    BOOST_CHECK_GT(variance, 1e-3);
    BOOST_CHECK_LE(std::abs(mean - y.context[c]), 4 * std::sqrt(variance / draws));
  }
}

BOOST_AUTO_TEST_CASE(p5_order_of_the_memory_is_irrelevant) {
  const Sizes sizes{4, 6, 5, 3};
  const std::vector<std::int64_t> order{3, 0, 5, 1, 4, 2};
  const auto q = random_rows<double>(4, 5, 10), k = random_rows<double>(6, 5, 11),
             v = random_rows<double>(6, 3, 12);
  const Attended<double> a = attend_op(sizes, q, k, v, 0.7);
  const Attended<double> b = attend_op(sizes, q, rows_in_order(k, 5, order), rows_in_order(v, 3, order), 0.7);
  BOOST_CHECK_LE(largest_difference(a.context, b.context), 1e-12);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 6; ++j)
      BOOST_CHECK_SMALL(a.weights[i * 6 + static_cast<std::size_t>(order[j])] - b.weights[i * 6 + j], 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(p14_the_decoder_sees_only_past_and_present) {
  const std::int64_t n = 7, changed = 4;
  const Sizes sizes{n, n, 6, 4, 2};
  const auto q = random_rows<float>(n, 6, 13), k = random_rows<float>(n, 6, 14),
             v = random_rows<float>(n, 4, 15);
  auto other_k = k, other_v = v;
  for (std::int64_t c = 0; c < 6; ++c) other_k[static_cast<std::size_t>(changed * 6 + c)] += 3;
  for (std::int64_t c = 0; c < 4; ++c) other_v[static_cast<std::size_t>(changed * 4 + c)] -= 2;
  const Attended<float> a = attend_op(sizes, q, k, v, 0.6, true),
                        b = attend_op(sizes, q, other_k, other_v, 0.6, true);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j)
        BOOST_CHECK_EQUAL(a.weights[static_cast<std::size_t>((h * n + i) * n + j)], 0.0f);
    }
  }
  const auto past = static_cast<std::ptrdiff_t>(changed * 4);
  BOOST_CHECK(std::equal(a.context.begin(), a.context.begin() + past, b.context.begin()));
  BOOST_CHECK(!std::equal(a.context.begin() + past, a.context.begin() + past + 4, b.context.begin() + past));
}

BOOST_AUTO_TEST_CASE(p17_self_attention_depends_on_every_position) {
  const std::int64_t n = 5, d = 6;
  Layer layer(d, 2);
  const std::vector<double> x = random_rows<double>(n, d, 16), y = layer.run(x);
  for (std::int64_t changed = 0; changed < n; ++changed) {
    std::vector<double> moved = x;
    moved[static_cast<std::size_t>(changed * d + 2)] += 1e-3;
    const std::vector<double> z = layer.run(moved);
    for (std::int64_t row = 0; row < n; ++row) {  // the Jacobian's block (row, changed) is not zero
      double most = 0;
      for (std::int64_t c = 0; c < d; ++c) {
        const auto at = static_cast<std::size_t>(row * d + c);
        most = std::max(most, std::abs(y[at] - z[at]));
      }
      BOOST_CHECK_GT(most, 1e-7);
    }
  }
}

BOOST_AUTO_TEST_CASE(p25_identity_projections_give_basic_self_attention) {
  const std::int64_t n = 5, d = 4;
  Layer layer(d, 1);
  for (const char* name : {"key/weight", "value/weight", "output/weight"}) layer.set(name, 1);
  layer.set("query/weight", std::sqrt(static_cast<double>(d)));  // undoes the layer's 1 / sqrt(d)
  const std::vector<double> x = random_rows<double>(n, d, 17);
  const Attended<double> basic = attend_op<double>({n, n, d, d}, x, x, x, 1.0);
  BOOST_CHECK_LE(largest_difference(layer.run(x), basic.context), 1e-14);
}

BOOST_AUTO_TEST_CASE(p26_joined_heads_times_w_o_is_the_sum_over_heads) {
  const std::int64_t n = 5, heads = 3, head_dim = 2, d = heads * head_dim;
  Layer layer(d, heads);
  Matrix<double> bias = layer.parameters.view("attention/output/bias");
  for (std::int64_t c = 0; c < d; ++c) bias(0, c) = 0.1 * static_cast<double>(c);
  const std::vector<double> output = layer.run(random_rows<double>(n, d, 18));
  const std::vector<double>& context = layer.recorder.context;
  const Matrix<double> w_o = layer.parameters.view("attention/output/weight");
  std::vector<double> sum(output.size());
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < d; ++c) {
        double product = h == 0 ? bias(0, c) : 0;
        for (std::int64_t r = h * head_dim; r < (h + 1) * head_dim; ++r)
          product += context[static_cast<std::size_t>(i * d + r)] * w_o(r, c);
        sum[static_cast<std::size_t>(i * d + c)] += product;
      }
    }
  }
  BOOST_CHECK_LE(largest_difference(output, sum), 1e-12);

  Layer single(d, 1);
  single.set("output/weight", 1);
  BOOST_CHECK(single.run(random_rows<double>(n, d, 19)) == single.recorder.context);
}

BOOST_AUTO_TEST_CASE(p27_retrieval_is_the_hard_limit) {
  const std::int64_t m = 6, d = 4;
  const auto q = random_rows<double>(1, d, 20), k = random_rows<double>(m, d, 21),
             v = random_rows<double>(m, 3, 22);
  std::vector<double> scores;
  for (std::int64_t j = 0; j < m; ++j) {
    scores.push_back(0);
    for (std::int64_t c = 0; c < d; ++c)
      scores.back() += q[static_cast<std::size_t>(c)] * k[static_cast<std::size_t>(j * d + c)];
  }
  const std::ptrdiff_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  const std::vector<double> retrieved(v.begin() + best * 3, v.begin() + best * 3 + 3);
  double last = 1e9;
  for (const double temperature : {1.0, 0.1, 0.01}) {
    const Attended<double> y = attend_op({1, m, d, 3}, q, k, v, 1 / temperature);
    const double distance = largest_difference(y.context, retrieved);
    BOOST_CHECK_LT(distance, last);
    last = distance;
  }
  BOOST_CHECK_LE(last, 1e-6);
}

BOOST_AUTO_TEST_CASE(p28_as_many_outputs_as_queries) {
  for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{3, 8}, {8, 3}, {1, 5}, {5, 1}}) {
    const Attended<float> y = attend_op({n, m, 6, 4, 2}, random_rows<float>(n, 6, 23),
                                        random_rows<float>(m, 6, 24), random_rows<float>(m, 4, 25), 1.0);
    BOOST_CHECK_EQUAL(y.context.size(), static_cast<std::size_t>(n * 4));
    BOOST_CHECK_EQUAL(y.weights.size(), static_cast<std::size_t>(2 * n * m));
  }
}

BOOST_AUTO_TEST_SUITE_END()
