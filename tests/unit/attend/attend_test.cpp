#include "attend/attend.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/sentence_error.h"
#include "support/gradient_check.h"

using namespace heed;

namespace {

Tensor random_tensor(Shape shape, std::uint64_t stream) {
  const std::vector<double> values = test::random_values(element_count(shape), stream);
  return Tensor::of<float>({values.begin(), values.end()}, std::move(shape));
}

Tensor lengths(std::vector<std::int32_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of<std::int32_t>(std::move(values), {count}, {"sentence"});
}

AttendOperands operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  AttendOperands o;
  o.query = {"/query", &query, "", nullptr};
  o.key = {"/key", &key, "", nullptr};
  o.value = {"/value", &value, "", nullptr};
  return o;
}

TensorMap attend(const AttendConfig& config, const AttendOperands& operands, int threads) {
  return Attention(config).run(operands, threads);
}

void check_values(const TensorMap& map, const std::string& name, const std::vector<double>& wanted,
                  double tolerance) {
  const auto got = map.at("attention/" + name).values<float>();
  BOOST_REQUIRE_EQUAL(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    BOOST_TEST_INFO(name << "[" << i << "]");
    if (std::isinf(wanted[i])) {
      BOOST_CHECK_EQUAL(got[i], static_cast<float>(wanted[i]));
    } else {
      BOOST_CHECK_SMALL(got[i] - wanted[i], tolerance);
    }
  }
}

/// Whether `run` throws an Error whose message holds `part`.
template <class Run>
void check_refused(const Run& run, const std::string& part) {
  BOOST_CHECK_EXCEPTION(run(), Error, [&](const Error& e) {
    BOOST_TEST_INFO(e.what());
    return std::string(e.what()).find(part) != std::string::npos;
  });
}

/// Two words, "Thinking Machines", with key_dim 64, so that scores are divided by 8. The vectors are made so
/// that the scores are 112 and 96 for the first word, 80 and 104 for the second.
struct TwoWords {
  Tensor query = Tensor::zeros<float>({2, 64}), key = Tensor::zeros<float>({2, 64}),
         value = Tensor::of<float>({1, 0, 2, 0, 4, -1}, {2, 3});
  TwoWords() {
    const float blocks[2][2] = {{7, 6}, {5, 6.5f}};
    for (std::size_t c = 0; c < 32; ++c) {
      for (std::size_t word = 0; word < 2; ++word)
        query.values<float>()[word * 64 + c] = blocks[word][c / 16];
      key.values<float>()[(c / 16) * 64 + c] = 1;
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(attend_tensors)

// The six steps of a worked example, the numbers computed by hand.
BOOST_AUTO_TEST_CASE(two_words_step_by_step) {
  const TwoWords words;
  AttendConfig config;
  config.steps = true;
  const TensorMap map = attend(config, operands(words.query, words.key, words.value), 1);
  check_values(map, "products", {112, 96, 80, 104}, 1e-9);
  check_values(map, "scores", {14, 12, 10, 13}, 1e-9);
  check_values(map, "masked", {14, 12, 10, 13}, 1e-9);
  check_values(map, "weights", {0.880797, 0.119203, 0.047426, 0.952574}, 1e-6);
  check_values(map, "weighted_values",
               {0.880797, 0, 1.761594, 0, 0.476812, -0.119203, 0.047426, 0, 0.094852, 0, 3.810296, -0.952574},
               1e-5);
  check_values(map, "context", {0.880797, 0.476812, 1.642391, 0.047426, 3.810296, -0.857722}, 1e-5);
  BOOST_CHECK(map.at("attention/weights").shape() == (Shape{1, 1, 1, 2, 2}));
  BOOST_CHECK(map.at("attention/weights").dims() ==
              (std::vector<std::string>{"sentence", "layer", "head", "query", "key"}));
}

BOOST_AUTO_TEST_CASE(unscaled_causal_and_hard) {
  const TwoWords words;
  const double hidden = -std::numeric_limits<double>::infinity();
  AttendConfig config;
  config.steps = true;
  config.mask = "causal";
  config.score = "dot";
  const TensorMap causal = attend(config, operands(words.query, words.key, words.value), 1);
  check_values(causal, "scores", {112, 96, 80, 104}, 1e-9);
  check_values(causal, "masked", {112, hidden, 80, 104}, 1e-9);
  check_values(causal, "weights", {1, 0, 0, 1}, 1e-9);
  config.mask = "none";
  config.hard = "argmax";
  const TensorMap hard = attend(config, operands(words.query, words.key, words.value), 1);
  check_values(hard, "weights", {1, 0, 0, 1}, 0);
  check_values(hard, "context", {1, 0, 2, 0, 4, -1}, 0);
}

BOOST_AUTO_TEST_CASE(p15_padding_has_no_effect) {
  const Tensor x = random_tensor({3, 6, 4}, 1), value = random_tensor({3, 6, 5}, 2);
  Tensor garbage = x;
  const std::vector<std::int32_t> counts{6, 2, 4};
  for (std::size_t s = 0; s < 3; ++s) {
    for (auto i = static_cast<std::size_t>(counts[s]); i < 6; ++i) {
      for (std::size_t c = 0; c < 4; ++c) garbage.values<float>()[(s * 6 + i) * 4 + c] = 1e6f;
    }
  }
  const Tensor length = lengths(counts);
  AttendConfig config;
  AttendOperands batch = operands(garbage, garbage, value);
  for (Operand* operand : {&batch.query, &batch.key, &batch.value}) {
    operand->length = &length;
    operand->length_name = "length";
  }
  const TensorMap together = attend(config, batch, 2);
  const auto weights = together.at("attention/weights").values<float>();
  const auto context = together.at("attention/context").values<float>();
  for (std::size_t s = 0; s < 3; ++s) {
    const auto n = static_cast<std::size_t>(counts[s]);
    auto alone = [&](const Tensor& of, std::size_t width) {
      const auto from = of.values<float>().begin() + static_cast<std::ptrdiff_t>(s * 6 * width);
      return Tensor::of<float>({from, from + static_cast<std::ptrdiff_t>(n * width)},
                               {counts[s], static_cast<std::int64_t>(width)});
    };
    const Tensor own_x = alone(x, 4), own_value = alone(value, 5);
    const TensorMap one = attend(config, operands(own_x, own_x, own_value), 1);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        const float wanted = i < n && j < n ? one.at("attention/weights").values<float>()[i * n + j] : 0;
        BOOST_CHECK_EQUAL(weights[(s * 6 + i) * 6 + j], wanted);
      }
      for (std::size_t c = 0; c < 5; ++c) {
        const float wanted = i < n ? one.at("attention/context").values<float>()[i * 5 + c] : 0;
        BOOST_CHECK_EQUAL(context[(s * 6 + i) * 5 + c], wanted);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(heads_side_by_side_are_heads_of_their_own) {
  const Tensor query = random_tensor({2, 3, 6}, 3), key = random_tensor({2, 5, 6}, 4),
               value = random_tensor({2, 5, 4}, 5);
  AttendConfig config;
  config.heads = 2;
  config.steps = true;
  const TensorMap joined = attend(config, operands(query, key, value), 1);
  const TensorMap apart =
      attend(AttendConfig{},
             operands(joined.at("attention/query_vector"), joined.at("attention/key_vector"),
                      joined.at("attention/value_vector")),
             1);
  for (const char* name : {"attention/weights", "attention/context"}) {
    const auto a = joined.at(name).values<float>(), b = apart.at(name).values<float>();
    BOOST_CHECK(joined.at(name).shape() == apart.at(name).shape());
    BOOST_CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

BOOST_AUTO_TEST_CASE(float64_is_kept) {
  Tensor x = Tensor::of<double>(test::random_values(12, 6), {3, 4});
  const Tensor narrow = random_tensor({3, 4}, 7);
  BOOST_CHECK(attend({}, operands(x, x, x), 1).at("attention/weights").dtype() == DType::f64);
  BOOST_CHECK(attend({}, operands(narrow, narrow, x), 1).at("attention/context").dtype() == DType::f64);
  BOOST_CHECK(attend({}, operands(narrow, narrow, narrow), 1).at("attention/weights").dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(masks_by_query_by_sentence_and_for_all) {
  const Tensor x = random_tensor({2, 3, 4}, 8);
  auto seen = [&](Tensor mask) {
    AttendConfig config;
    config.mask = "m.h5:/mask";
    AttendOperands o = operands(x, x, x);
    o.masks = {Operand{"/mask", &mask, "", nullptr}};
    const TensorMap map = attend(config, o, 1);
    std::vector<int> visible;
    for (const float w : map.at("attention/weights").values<float>()) visible.push_back(w > 0);
    return visible;
  };
  using Bytes = std::vector<std::uint8_t>;
  const Bytes square{1, 0, 0, 1, 1, 0, 0, 1, 1};
  const std::vector<int> twice{1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  BOOST_TEST(seen(Tensor::of<std::uint8_t>(square, {3, 3})) == twice, boost::test_tools::per_element());
  BOOST_TEST(seen(Tensor::of<std::uint8_t>({1, 0, 1}, {3})) ==
                 (std::vector<int>{1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(seen(Tensor::of<std::uint8_t>({1, 1, 0, 0, 0, 1}, {2, 3}, {"sentence", "position"})) ==
                 (std::vector<int>{1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1}),
             boost::test_tools::per_element());
  check_refused([&] { seen(Tensor::of<std::int32_t>({1, 2, 1}, {3})); }, "wanted only 0 and 1");
  BOOST_TEST(seen(Tensor::of<float>({1, 0, 1}, {3})) == seen(Tensor::of<std::uint8_t>({1, 0, 1}, {3})),
             boost::test_tools::per_element());
  check_refused([&] { seen(Tensor::of<float>({1, 0.5, 1}, {3})); }, "numbers to be added are a --bias");
}

BOOST_AUTO_TEST_CASE(a_query_without_keys_is_refused_or_zero) {
  const Tensor query = random_tensor({4, 3}, 9), key = random_tensor({2, 3}, 10);
  AttendConfig config;
  config.mask = "causal";  // the last query sees both keys, so the first two see none
  check_refused([&] { attend(config, operands(query, key, key), 1); }, "query 0 has no key to attend to");
  config.allow_masked_rows = true;
  for (const char* hard : {"", "argmax"}) {
    config.hard = hard;
    const TensorMap map = attend(config, operands(query, key, key), 1);
    const auto weights = map.at("attention/weights").values<float>();
    BOOST_CHECK(std::all_of(weights.begin(), weights.begin() + 4, [](float w) { return w == 0; }));
    BOOST_CHECK_EQUAL(weights[4], 1.0f);
    BOOST_CHECK_EQUAL(map.at("attention/context").values<float>()[0], 0.0f);
  }
}

BOOST_AUTO_TEST_CASE(extreme_scores_stay_finite) {
  for (const float size : {1e15f, -1e15f, 1e-22f, -0.0f}) {  // scores of +-1e30, denormal, zero
    const Tensor query = Tensor::of<float>({size}, {1, 1}),
                 key = Tensor::of<float>({1e15f, -1e15f, 1e14f}, {3, 1});
    const TensorMap map = attend({}, operands(query, key, key), 1);
    float sum = 0;
    for (const float w : map.at("attention/weights").values<float>()) {
      BOOST_CHECK(std::isfinite(w) && w >= 0);
      sum += w;
    }
    BOOST_CHECK_CLOSE(sum, 1.0f, 1e-4f);
  }
  const Tensor huge = Tensor::of<float>({1e30f}, {1, 1});
  check_refused([&] { attend({}, operands(huge, huge, huge), 1); }, "does not fit into");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const Tensor query = random_tensor({2, 3, 6}, 11), key = random_tensor({2, 5, 6}, 12);
  const Tensor narrow = random_tensor({2, 5, 4}, 13), three = random_tensor({3, 5, 6}, 14),
               line = random_tensor({6}, 15);
  const Tensor whole = Tensor::zeros<std::int32_t>({3, 6}), none = Tensor::zeros<float>({0, 6});
  check_refused([&] { attend({}, operands(query, narrow, narrow), 1); }, "wanted d = 6");
  check_refused([&] { attend({}, operands(query, key, query), 1); }, "wanted m = 5");
  check_refused([&] { attend({}, operands(query, three, three), 1); }, "wanted batch = 2");
  check_refused([&] { attend({}, operands(line, line, line), 1); }, "wanted [n, d]");
  check_refused([&] { attend({}, operands(whole, whole, whole), 1); }, "holds int32 values");
  check_refused([&] { attend({}, operands(none, none, none), 1); }, "has no elements");
  Tensor bad = key;
  bad.values<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  check_refused([&] { attend({}, operands(query, bad, key), 1); }, "/key is nan at [1, 1] of the sentence");
  BOOST_CHECK_EXCEPTION(attend({}, operands(query, bad, key), 1), SentenceError,
                        [](const SentenceError& e) { return e.sentence == 0; });
  AttendConfig config;
  config.heads = 4;
  check_refused([&] { attend(config, operands(query, key, key), 1); }, "4 heads do not divide the width 6");
  config.heads = 1;
  config.mask = "lengths";
  check_refused([&] { attend(config, operands(query, key, key), 1); }, "has no lengths");
}

BOOST_AUTO_TEST_SUITE_END()
