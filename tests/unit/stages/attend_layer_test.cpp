#include "stages/attend_layer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "attend/attend.h"
#include "base/error.h"
#include "models/transformer.h"
#include "stages/encode.h"
#include "stages/translate.h"

using namespace heed;

namespace {

TransformerConfig small_config(const std::string& norm) {
  TransformerConfig config;
  config.source_vocab_size = config.target_vocab_size = 15;
  config.n_encoder_layers = 3;
  config.n_decoder_layers = 2;
  config.d_model = 12;
  config.d_ff = 20;
  config.n_heads = 3;
  config.max_length = 11;
  config.norm = norm;
  return config;
}

std::unique_ptr<Model<float>> drawn(const TransformerConfig& config) {
  auto model = build<float>(config);
  model->parameters.initialize(5);
  return model;
}

std::unique_ptr<Model<float>> small_model(const std::string& norm) {
  return drawn(small_config(norm));
}

/// As attention/NAME: two of these differ by at most `most`.
void check_near(std::span<const float> a, std::span<const float> b, double most) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i] - b[i])));
    size = std::max(size, std::abs(static_cast<double>(a[i])));
  }
  BOOST_CHECK_LE(worst, most);
  BOOST_CHECK_GT(size, 0.1);
}

/// Twenty sentences (two shards) of 1 to 7 tokens.
TensorMap embedded(const Model<float>& model) {
  std::vector<std::int32_t> ids(20 * 7), lengths;
  for (std::int32_t s = 0; s < 20; ++s) {
    lengths.push_back(1 + s % 7);
    for (std::int32_t i = 0; i < lengths.back(); ++i)
      ids[static_cast<std::size_t>(s * 7 + i)] =
          i + 1 == lengths.back() ? kDefaultSpecialIds.eos : 4 + (s * 5 + i * 3) % 11;
  }
  TensorMap frame;
  frame.add("tokens/ids", Tensor::of<std::int32_t>(ids, {20, 7}, {"sentence", "position"}));
  frame.add("tokens/length", Tensor::of<std::int32_t>(lengths, {20}, {"sentence"}));
  embed_frame(model, Side::source, frame);
  return frame;
}

std::vector<std::vector<std::int32_t>> some_targets() {
  std::vector<std::vector<std::int32_t>> targets;
  for (std::int32_t s = 0; s < 20; ++s) {
    targets.emplace_back();
    for (std::int32_t i = 0; i < s % 4; ++i) targets.back().push_back(5 + (s + i * 2) % 10);
    targets.back().push_back(kDefaultSpecialIds.eos);
  }
  return targets;
}

bool equal_values(const TensorMap& a, const TensorMap& b, const std::string& name) {
  const auto x = a.at(name).values<float>(), y = b.at(name).values<float>();
  return a.at(name).shape() == b.at(name).shape() && std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attend_model_layer)

BOOST_AUTO_TEST_CASE(layers_are_found_by_path) {
  const auto model_owner = small_model("post");
  const Model<float>& model = *model_owner;
  const AttentionLayer layer = attention_layer(model, "/decoder/layer_1/cross_attention");
  BOOST_CHECK(layer.decoder && layer.cross);
  BOOST_CHECK_EQUAL(layer.index, 1);
  BOOST_CHECK_EQUAL(attention_layer(model, "encoder/layer_2/self_attention").index, 2);
  for (const char* path : {"encoder/layer_3/self_attention", "encoder/layer_0/cross_attention", "encoder", "",
                           "decoder/layer_1/self_attention/query"}) {
    BOOST_CHECK_THROW(attention_layer(model, path), UsageError);
  }
}

/// What attention over the kept vectors of a layer gives.
TensorMap attended_again(const TensorMap& frame) {
  AttendOperands o;
  o.query = {"/queries", &frame.at("attention/query_vector"), "attention/query_length",
             &frame.at("attention/query_length")};
  o.key = {"/keys", &frame.at("attention/key_vector"), "attention/key_length",
           &frame.at("attention/key_length")};
  o.value = o.key;
  o.value.tensor = &frame.at("attention/value_vector");
  return Attention({}).run(o, 1);
}

BOOST_AUTO_TEST_CASE(attention_of_projected_vectors_is_the_layers_attention) {
  for (const char* norm : {"post", "pre"}) {
    const auto model_owner = small_model(norm);
    const Model<float>& model = *model_owner;
    TensorMap frame = embedded(model);
    attend_layer(model, attention_layer(model, "encoder/layer_1/self_attention"), true, {}, 2, frame);
    const TensorMap again = attended_again(frame);
    for (const char* name : {"attention/scores", "attention/weights", "attention/context"}) {
      BOOST_REQUIRE(frame.at(name).shape() == again.at(name).shape());
      check_near(frame.at(name).values<float>(), again.at(name).values<float>(), 2e-6);
    }
  }
}

// Also where queries and keys are normalised and turned, and keys are shared.
BOOST_AUTO_TEST_CASE(vectors_of_a_layer_are_those_that_it_compares) {
  TransformerConfig config = small_config("pre");
  config.n_heads = 4;
  config.n_kv_heads = 2;
  config.d_head = 6;
  config.positions = "rotary";
  config.qk_norm = true;
  const auto model = drawn(config);
  TensorMap frame = embedded(*model);
  attend_layer(*model, attention_layer(*model, "encoder/layer_1/self_attention"), true, {}, 2, frame);
  BOOST_TEST((frame.at("attention/query_vector").shape() == Shape{20, 1, 4, 7, 6}));
  BOOST_TEST((frame.at("attention/key_vector").shape() == Shape{20, 1, 2, 7, 6}));
  BOOST_TEST((frame.at("attention/context").shape() == Shape{20, 1, 7, 24}));
  BOOST_TEST((frame.at("attention/output").shape() == Shape{20, 1, 7, 12}));
  const TensorMap again = attended_again(frame);
  for (const char* name : {"attention/scores", "attention/weights", "attention/context"})
    check_near(frame.at(name).values<float>(), again.at(name).values<float>(), 4e-6);
}

BOOST_AUTO_TEST_CASE(the_bias_by_position_is_part_of_the_scores) {
  for (const char* positions : {"relative_buckets", "learned_buckets", "alibi"}) {
    TransformerConfig config = small_config("pre");
    config.positions = positions;
    const auto model = drawn(config);
    TensorMap frame = embedded(*model);
    for (const char* layer : {"encoder/layer_1/self_attention", "decoder/layer_0/self_attention"}) {
      attend_layer(*model, attention_layer(*model, layer), true, some_targets(), 2, frame);
      const auto products = frame.at("attention/products").values<float>(),
                 bias = frame.at("attention/position_bias").values<float>();
      std::vector<float> sum(products.begin(), products.end());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] / 2 + bias[i];  // heads of 4
      check_near(sum, frame.at("attention/scores").values<float>(), 4e-6);
      check_near(bias, bias, 0);  // is not zero
    }
    attend_layer(*model, attention_layer(*model, "decoder/layer_0/cross_attention"), true, some_targets(), 2,
                 frame);
    BOOST_TEST(!frame.contains("attention/position_bias"));
  }
}

BOOST_AUTO_TEST_CASE(decoder_layers_agree_with_the_decoders_own_record) {
  const auto model_owner = small_model("pre");
  const Model<float>& model = *model_owner;
  TensorMap frame = embedded(model), encoded = embedded(model);
  encode_frame(model, {}, 1, encoded);
  const auto targets = some_targets();
  std::vector<std::vector<Hypothesis>> hypotheses;
  for (const auto& ids : targets) hypotheses.push_back({{ids, {}, 0.0, true, {}}});
  const TensorMap record = decoder_attention(model, memory_of(encoded, model), hypotheses, false, 1);

  const AttentionLayer cross = attention_layer(model, "decoder/layer_1/cross_attention");
  attend_layer(model, cross, false, targets, 1, frame);    // runs the encoder itself
  attend_layer(model, cross, false, targets, 2, encoded);  // takes its states
  BOOST_CHECK(equal_values(frame, encoded, "attention/weights"));
  BOOST_CHECK(equal_values(frame, encoded, "attention/context"));
  const Shape shape = frame.at("attention/weights").shape(),
              all = record.at("cross_attention/weights").shape();
  BOOST_REQUIRE(shape == (Shape{20, 1, 3, all[3], all[4]}));
  const auto block = static_cast<std::size_t>(3 * all[3] * all[4]);
  const auto one = frame.at("attention/weights").values<float>();
  const auto both = record.at("cross_attention/weights").values<float>();
  for (std::size_t s = 0; s < 20; ++s) {
    const std::span<const float> own = one.subspan(s * block, block),
                                 recorded = both.subspan((s * 2 + 1) * block, block);
    BOOST_CHECK(std::equal(own.begin(), own.end(), recorded.begin()));
  }
  BOOST_CHECK_THROW(attend_layer(model, cross, false, {}, 1, frame), Error);
}

BOOST_AUTO_TEST_CASE(decoder_self_attention_is_causal) {  // P14
  const auto model_owner = small_model("post");
  const Model<float>& model = *model_owner;
  TensorMap frame = embedded(model);
  attend_layer(model, attention_layer(model, "decoder/layer_0/self_attention"), true, some_targets(), 1,
               frame);
  const Tensor& weights = frame.at("attention/weights");
  const std::int64_t n = weights.shape()[3];
  BOOST_REQUIRE_EQUAL(n, 4);
  std::int64_t positive = 0;
  for (std::int64_t block = 0; block < 60; ++block) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const float w = weights.values<float>()[static_cast<std::size_t>((block * n + i) * n + j)];
        if (j > i) BOOST_CHECK_EQUAL(w, 0.0f);
        positive += w > 0;
      }
    }
  }
  BOOST_CHECK_EQUAL(positive, 3 * 5 * (1 + 3 + 6 + 10));  // the triangles of five sentences of each length
}

/// Though its tokenizer puts no end after a text: what a decoder of a pair reads is shifted right all the
/// same.
BOOST_AUTO_TEST_CASE(keys_of_a_pairs_decoder_are_what_it_reads) {
  const LoadedModel loaded = load_model(std::string(HEED_TESTDATA) + "/import/t5");
  BOOST_REQUIRE(!loaded.target.ends_sentences());
  TensorMap frame;
  frame.add("tokens/ids", Tensor::of<std::int32_t>({5, 6, 1}, {1, 3}, {"sentence", "position"}));
  frame.add("tokens/length", Tensor::of<std::int32_t>({3}, {1}, {"sentence"}));
  embed_frame(*loaded.model, Side::source, frame);
  const std::vector<std::vector<std::int32_t>> targets{{7, 9, 11, 1}};
  const AttentionLayer layer = attention_layer(*loaded.model, "decoder/layer_0/self_attention");
  attend_layer(*loaded.model, layer, false, targets, 1, frame);
  label_layer(layer, loaded, targets, frame);
  const auto keys = frame.at("attention/key_token").values<std::string>();
  const std::string& start = loaded.target.piece(loaded.model->target_special.bos);
  BOOST_TEST(
      std::vector<std::string>(keys.begin(), keys.end()) == (std::vector<std::string>{start, "7", "9", "11"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_does_not_belong_to_the_model_is_refused) {
  const auto model_owner = small_model("post");
  const Model<float>& model = *model_owner;
  const AttentionLayer layer = attention_layer(model, "encoder/layer_0/self_attention");
  TensorMap empty;
  BOOST_CHECK_THROW(attend_layer(model, layer, false, {}, 1, empty), Error);
  TensorMap wide = embedded(model);
  wide.erase("embeddings/values");
  wide.add("embeddings/values", Tensor::zeros<float>({20, 7, 10}));
  BOOST_CHECK_EXCEPTION(attend_layer(model, layer, false, {}, 1, wide), Error, [](const Error& e) {
    return std::string(e.what()).find("[20, 7, 10]") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
