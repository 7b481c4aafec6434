// Claims (scripts/claim_experiments/README.md) about the parts of the Transformer block, on the library's own
// parts.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "attend_op.h"
#include "models/transformer.h"
#include "nn/feed_forward.h"
#include "nn/positional_encoding.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr std::int64_t kWidth = 6;

/// Encoder output [rows, d] of one sentence.
std::vector<double> encoded(const std::string& positions, const std::vector<std::int32_t>& ids) {
  TransformerConfig config;
  config.source_vocab_size = config.target_vocab_size = 12;
  config.n_encoder_layers = 2;
  config.n_decoder_layers = 1;
  config.d_model = kWidth;
  config.d_ff = 10;
  config.n_heads = 3;
  config.max_length = 9;
  config.positions = positions;
  const auto model_owner = build<double>(config);
  Model<double>& model = *model_owner;
  model.parameters.initialize(21);
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  PackedTokens tokens;
  tokens.append(ids);
  const Matrix<const double> y = model.encode(pass, tokens).states.value();
  return {y.data, y.data + y.size()};
}

std::vector<double> mean_row(const std::vector<double>& x, std::int64_t cols) {
  std::vector<double> mean(static_cast<std::size_t>(cols));
  for (std::size_t i = 0; i < x.size(); ++i)
    mean[i % mean.size()] += x[i] / static_cast<double>(x.size() / mean.size());
  return mean;
}

std::vector<double> normed(const std::vector<double>& x, std::int64_t cols, double eps) {
  Tape<double> tape;
  const std::vector<double> gamma(static_cast<std::size_t>(cols), 1.0),
      beta(static_cast<std::size_t>(cols), 0.0);
  const auto rows = static_cast<std::int64_t>(x.size()) / cols;
  const Matrix<const double> y = add_layer_norm<double>(tape.constant({x.data(), rows, cols}), Var<double>(),
                                                        Dropout{}, tape.constant({gamma.data(), 1, cols}),
                                                        tape.constant({beta.data(), 1, cols}), eps)
                                     .output.value();
  return {y.data, y.data + y.size()};
}

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(block_properties)

BOOST_AUTO_TEST_CASE(p4_the_block_is_permutation_equivariant) {
  const std::vector<std::int32_t> ids{5, 9, 4, 7, 11};
  const std::vector<std::int64_t> order{2, 4, 0, 3, 1};
  std::vector<std::int32_t> permuted;
  for (const std::int64_t i : order) permuted.push_back(ids[static_cast<std::size_t>(i)]);

  const std::vector<double> y = encoded("none", ids), z = encoded("none", permuted);
  BOOST_CHECK_LE(largest_difference(rows_in_order(y, kWidth, order), z), 1e-6);
  BOOST_CHECK_GT(largest_difference(y, z), 1e-2);  // equivariant, not invariant ...
  BOOST_CHECK_LE(largest_difference(mean_row(y, kWidth), mean_row(z, kWidth)), 1e-6);  // ... but the mean is

  const std::vector<double> placed = encoded("sinusoidal", ids), moved = encoded("sinusoidal", permuted);
  BOOST_CHECK_GT(largest_difference(rows_in_order(placed, kWidth, order), moved), 1e-2);
}

BOOST_AUTO_TEST_CASE(feed_forward_reads_one_position) {
  const std::int64_t n = 5, d = 4;
  ParameterSet<double> parameters;
  add_feed_forward(parameters, "ffn", d, 7);
  parameters.initialize(5);
  auto run = [&](const std::vector<double>& x) {
    Tape<double> tape;
    Pass<double> pass(tape, parameters);
    Packing rows;
    rows.append(static_cast<std::int64_t>(x.size()) / d);
    const Matrix<const double> y =
        feed_forward(Scope<double>(pass) / "ffn", tape.constant({x.data(), rows.rows(), d}), rows,
                     FeedForwardSettings{})
            .value();
    return std::vector<double>(y.data, y.data + y.size());
  };
  const std::vector<double> x = random_rows<double>(n, d, 31), y = run(x);
  std::vector<double> one_by_one;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::vector<double> row = run({x.begin() + i * d, x.begin() + (i + 1) * d});
    one_by_one.insert(one_by_one.end(), row.begin(), row.end());
  }
  BOOST_CHECK_LE(largest_difference(y, one_by_one), 1e-14);

  for (std::int64_t changed = 0; changed < n; ++changed) {  // the Jacobian is block-diagonal
    std::vector<double> moved = x;
    for (std::int64_t c = 0; c < d; ++c) moved[static_cast<std::size_t>(changed * d + c)] += 1;
    const std::vector<double> z = run(moved);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool same = std::equal(y.begin() + i * d, y.begin() + (i + 1) * d, z.begin() + i * d);
      BOOST_CHECK_EQUAL(same, i != changed);
    }
  }
}

BOOST_AUTO_TEST_CASE(p18_layer_norm_gives_zero_mean_and_unit_variance) {
  const std::int64_t n = 4, d = 9;
  const std::vector<double> x = random_rows<double>(n, d, 32);
  for (const double eps : {1e-5, 1e-2}) {
    const std::vector<double> y = normed(x, d, eps);
    for (std::int64_t i = 0; i < n; ++i) {
      auto moments = [&](const std::vector<double>& values) {
        double mean = 0, variance = 0;
        for (std::int64_t c = 0; c < d; ++c) mean += values[static_cast<std::size_t>(i * d + c)] / d;
        for (std::int64_t c = 0; c < d; ++c)
          variance += std::pow(values[static_cast<std::size_t>(i * d + c)] - mean, 2) / d;
        return std::pair{mean, variance};
      };
      const double before = moments(x).second;
      BOOST_CHECK_SMALL(moments(y).first, 1e-12);
      BOOST_CHECK_CLOSE(moments(y).second, 1 - eps / (before + eps), 1e-8);
    }
  }
  std::vector<double> stretched = x;
  for (double& value : stretched) value = 3.5 * value - 2;
  BOOST_CHECK_LE(largest_difference(normed(x, d, 0), normed(stretched, d, 0)), 1e-12);
  BOOST_CHECK_GT(largest_difference(normed(x, d, 1e-2), normed(stretched, d, 1e-2)), 1e-4);
}

BOOST_AUTO_TEST_CASE(p19_positions_are_unique_and_bounded) {
  const std::int64_t count = 10000, d = 16;
  const std::vector<float> p = sinusoidal_positions<float>(count, d);
  BOOST_REQUIRE_EQUAL(p.size(), static_cast<std::size_t>(count * d));
  BOOST_CHECK(std::all_of(p.begin(), p.end(), [](float x) { return x >= -1 && x <= 1; }));
  std::vector<std::vector<float>> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.emplace_back(p.begin() + i * d, p.begin() + (i + 1) * d);
  std::sort(rows.begin(), rows.end());
  BOOST_CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
}

BOOST_AUTO_TEST_CASE(p19_positions_rotate) {
  const std::int64_t count = 200, d = 10, k = 7;
  const std::vector<double> p = sinusoidal_positions<double>(count, d);
  const double product = dot(&p[0], &p[static_cast<std::size_t>(k * d)], d);
  for (std::int64_t i = 0; i + k < count; ++i) {
    const double* here = &p[static_cast<std::size_t>(i * d)];
    const double* there = &p[static_cast<std::size_t>((i + k) * d)];
    BOOST_CHECK_CLOSE(dot(here, there, d), product, 1e-9);
    for (std::int64_t j = 0; j < d; j += 2) {  // the pair (sin, cos) turns by k times its frequency
      const double angle = static_cast<double>(k) / std::pow(10000.0, static_cast<double>(j) / d);
      BOOST_CHECK_SMALL(here[j] * std::cos(angle) + here[j + 1] * std::sin(angle) - there[j], 1e-10);
      BOOST_CHECK_SMALL(here[j + 1] * std::cos(angle) - here[j] * std::sin(angle) - there[j + 1], 1e-10);
    }
  }
}

BOOST_AUTO_TEST_CASE(p20_same_word_different_position_different_vector) {
  const std::vector<std::int32_t> ids{8, 5, 8, 4, 8};
  for (const bool placed : {true, false}) {
    const std::vector<double> y = encoded(placed ? "sinusoidal" : "none", ids);
    auto row = [&](std::int64_t i) {
      return std::vector<double>(y.begin() + i * kWidth, y.begin() + (i + 1) * kWidth);
    };
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {2, 4}, {0, 4}}) {
      if (placed) {
        BOOST_CHECK_GT(largest_difference(row(a), row(b)), 1e-3);
      } else {
        BOOST_CHECK_LE(largest_difference(row(a), row(b)), 1e-12);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(p36_probabilities_of_ten_thousand_words_sum_to_one) {
  const std::int64_t words = 10000, n = 3;
  std::vector<float> logits = random_rows<float>(n, words, 33);
  for (float& x : logits) x *= 4;
  std::vector<float> p = logits;
  softmax_rows<float>({p.data(), n, words});
  for (std::int64_t i = 0; i < n; ++i) {
    const float *row = p.data() + i * words, *before = logits.data() + i * words;
    double sum = 0;
    for (std::int64_t j = 0; j < words; ++j) sum += row[j];
    BOOST_CHECK_LE(std::abs(sum - 1), static_cast<double>(words) * std::numeric_limits<float>::epsilon());
    BOOST_CHECK_EQUAL(std::max_element(row, row + words) - row,
                      std::max_element(before, before + words) - before);
  }
}

BOOST_AUTO_TEST_SUITE_END()
