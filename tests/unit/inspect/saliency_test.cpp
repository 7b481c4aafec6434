#include "inspect/saliency.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;

namespace {

std::unique_ptr<Model<float>> small_model(const std::string& architecture) {
  const std::string sizes =
      architecture == "transformer"
          ? R"("d_model": 12, "d_ff": 20, "n_heads": 3, "n_encoder_layers": 2, "n_decoder_layers": 1, "max_length": 9)"
          : R"("d_embedding": 6, "d_hidden": 7, "init": "xavier")";
  auto model = make_model<float>(R"({"architecture": ")" + architecture +
                                 R"(", "source_vocab_size": 12, "target_vocab_size": 12, )" + sizes + "}");
  model->parameters.initialize(4);
  if (architecture != "transformer") {
    for (float& value : model->parameters.values()) value *= 2;  // so that words matter
  }
  return model;
}

/// Embeddings of two sentences.
PackedStates embedded(const Model<float>& model) {
  PackedTokens tokens;
  tokens.append(std::vector<std::int32_t>{5, 7, 4, 10, 3});
  tokens.append(std::vector<std::int32_t>{6, 3});
  Tape<float> tape;
  Pass<float> pass(tape, model.parameters);
  const Matrix<const float> x = model.embed(pass, Side::source, tokens).value();
  return {tokens.rows, {x.data, x.data + x.size()}, {}};
}

const std::vector<std::vector<std::int32_t>> kTargets{{4, 9, 3}, {8, 5, 10, 7, 4, 6, 3}};
const std::vector<std::string> kArchitectures{"transformer", "bahdanau", "luong", "sutskever", "cho"};

}  // namespace

BOOST_AUTO_TEST_SUITE(saliency_of_source_words)

/// Only true gradients add up to the difference that they are integrated over.
BOOST_DATA_TEST_CASE(integrated_gradients_are_complete, boost::unit_test::data::make(kArchitectures), name) {
  const auto model = small_model(name);
  SaliencyConfig config;
  config.saliency_method = "integrated";
  config.saliency_steps = 100;
  const TensorMap map = saliency(*model, config, embedded(*model), kTargets, 2);
  const auto scores = map.at("saliency/scores").values<float>();
  BOOST_CHECK(map.at("saliency/scores").shape() == (Shape{2, 7, 5}));
  float most = 0, gap = 0;
  for (float s : scores) most = std::max(most, std::abs(s));
  for (float g : map.at("saliency/gap").values<float>()) gap = std::max(gap, std::abs(g));
  BOOST_CHECK_GT(most, 1e-2);
  BOOST_CHECK_LT(gap, 0.02 * most);
}

/// Why the unknown word is the default.
BOOST_AUTO_TEST_CASE(zeros_are_far_from_complete_with_layer_norm) {
  const auto model = small_model("transformer");
  SaliencyConfig config;
  config.saliency_method = "integrated";
  auto largest_gap = [&](const std::string& baseline) {
    config.saliency_baseline = baseline;
    float gap = 0;
    const TensorMap map = saliency(*model, config, embedded(*model), kTargets, 1);
    for (float g : map.at("saliency/gap").values<float>()) gap = std::max(gap, std::abs(g));
    return gap;
  };
  BOOST_TEST(config.saliency_baseline == "unknown");
  BOOST_CHECK_GT(largest_gap("zero"), 10 * largest_gap("unknown"));
}

BOOST_DATA_TEST_CASE(sentences_stand_alone_and_padding_is_zero, boost::unit_test::data::make(kArchitectures),
                     name) {
  const auto model = small_model(name);
  const TensorMap one = saliency(*model, {}, embedded(*model), kTargets, 1),
                  two = saliency(*model, {}, embedded(*model), kTargets, 2);
  const auto a = one.at("saliency/scores").values<float>(), b = two.at("saliency/scores").values<float>();
  BOOST_CHECK(std::equal(a.begin(), a.end(), b.begin()));
  for (std::size_t t = 0; t < 7; ++t) {
    for (std::size_t j = 0; j < 5; ++j) {
      if (t >= 3) BOOST_CHECK_EQUAL(a[t * 5 + j], 0);
      if (j >= 2) BOOST_CHECK_EQUAL(a[35 + t * 5 + j], 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_must_be_there) {
  SaliencyConfig config;
  config.saliency_steps = 0;
  BOOST_CHECK_THROW(check_ranges(config), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
