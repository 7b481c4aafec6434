// Models that are written as folders of other programs, and read again.
#include "models/foreign/export.h"

#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "models/foreign/import.h"
#include "models/search_settings.h"
#include "models/shards.h"
#include "support/foreign_folder.h"
#include "support/imported_models.h"
#include "support/temporary_folder.h"
#include "text/foreign_tokenizer.h"

using namespace heed;
using namespace heed::test;
using foreign::Json;

namespace {

BOOST_AUTO_TEST_SUITE(foreign_models)

/// What computes the same is exported by the name that it came with.
BOOST_AUTO_TEST_CASE(keep_their_name_in_an_export) {
  for (const char* name :
       {"roberta-masked", "xlm-roberta-masked", "camembert-tokens", "mpnet-classes", "electra-tokens",
        "electra-masked", "bert-masked", "modernbert-mean", "modernbert-tokens", "modernbert-masked"}) {
    const TemporaryFolder temporary;
    const LoadedModel loaded = load_model(std::string(HEED_TESTDATA) + "/import/" + name);
    foreign::export_model(loaded, temporary / "out");
    const Json own = Folder(name).config, out = foreign::read_json_object(temporary / "out/config.json");
    BOOST_TEST(out.at("model_type") == own.at("model_type"), name);
    BOOST_TEST(out.at("architectures") == own.at("architectures"), name);
  }
}

BOOST_AUTO_TEST_CASE(export_biases_beside_norms_of_queries) {
  const TemporaryFolder temporary;
  Folder folder("qwen3");
  folder.config["attention_bias"] = true;
  const TensorMap tensors = folder.tensors;
  for (const auto& [name, tensor] : tensors.tensors())
    for (const char part : {'q', 'k', 'v', 'o'})
      if (const std::string weight = concat(part, "_proj.weight"); name.ends_with(weight))
        folder.tensors.add(name.substr(0, name.size() - 6) + "bias", ones({tensor.shape()[0]}));
  folder.write(temporary / "m");
  const LoadedModel loaded = load_model(temporary / "m");
  foreign::export_model(loaded, temporary / "out");
  BOOST_CHECK_EQUAL(load_model(temporary / "out").digest, loaded.digest);
}

/// Where nothing in a Phi-3 is other than in a Llama, it is still stored as a Phi-3.
BOOST_AUTO_TEST_CASE(stay_of_the_family_that_they_are_from) {
  const TemporaryFolder temporary;
  LoadedModel loaded = load_model(std::string(HEED_TESTDATA) + "/import/phi3-whole");
  const auto type_of = [&](const char* name) {
    foreign::export_model(loaded, temporary / name);
    return Json::parse(bytes_of(temporary / name + "/config.json")).at("model_type").get<std::string>();
  };
  BOOST_CHECK_EQUAL(type_of("imported"), "phi3");
  loaded.origin = {};
  BOOST_CHECK_EQUAL(type_of("own"), "llama");
  BOOST_CHECK_EQUAL(load_model(temporary / "own").digest, loaded.digest);
}

/// Of these the file has tensors that the model does not keep, or is a part of one.
const std::vector<std::string> kOtherTensors{"gpt2-bare", "bert-gamma-beta", "gpt-neox-sequential"};

/// Those whose files come back: Sockeye's format is not written, and what was in bfloat16 or in several files
/// becomes one file in float32.
std::vector<std::string> exported_models() {
  std::vector<std::string> names = imported_models();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("sockeye") || name == "llama-bf16" || name == "llama-shards";
  });
  return names;
}

/// What is exported is what was imported: the same tensors, and the same model.
BOOST_DATA_TEST_CASE(come_back_from_export, boost::unit_test::data::make(exported_models()), name) {
  const TemporaryFolder temporary;
  const std::string path = std::string(HEED_TESTDATA) + "/import/" + name;
  const LoadedModel loaded = load_model(path);
  foreign::export_model(loaded, temporary / "out");
  const LoadedModel again = load_model(temporary / "out");
  BOOST_CHECK_EQUAL(again.model->config_json, loaded.model->config_json);
  BOOST_CHECK_EQUAL(again.digest, loaded.digest);
  BOOST_TEST(again.classes == loaded.classes, boost::test_tools::per_element());
  if (std::ranges::count(kOtherTensors, name) > 0 || name.starts_with("marian-npz") ||
      name.starts_with("marian-binary"))
    return;
  BOOST_CHECK(bytes_of(temporary / "out/model.safetensors") == bytes_of(path + "/model.safetensors"));
}

BOOST_AUTO_TEST_CASE(say_again_how_pictures_are_prepared) {
  const TemporaryFolder temporary;
  LoadedModel own = load_model(std::string(HEED_TESTDATA) + "/import/vit");
  Json config = Json::parse(own.model->config_json);
  config["image_mean"] = ".5";
  config["image_deviation"] = "1, 0.48145466,5e-1";
  own.model = make_model<float>(config.dump());
  own.model->parameters.initialize(3);
  complete(own, "own", own.model->config_json);
  foreign::export_model(own, temporary / "out");
  const LoadedModel again = load_model(temporary / "out");
  BOOST_TEST(again.model->images->mean == (std::vector<double>{0.5, 0.5, 0.5}),
             boost::test_tools::per_element());
  BOOST_TEST(again.model->images->deviation == (std::vector<double>{1, 0.48145466, 0.5}),
             boost::test_tools::per_element());
  foreign::export_model(again, temporary / "twice");
  BOOST_CHECK_EQUAL(load_model(temporary / "twice").digest, again.digest);
}

/// Marian takes a factor of 0 at its word.
BOOST_AUTO_TEST_CASE(leave_the_length_to_marian_unless_it_is_known) {
  const TemporaryFolder temporary;
  LoadedModel loaded = load_model(std::string(HEED_TESTDATA) + "/import/marian-npz-post");
  const auto exported = [&](const char* name) {
    foreign::export_model(loaded, temporary / name);
    return bytes_of(temporary / name + "/decoder.yml");
  };
  BOOST_CHECK_NE(exported("known").find("max-length-factor"), std::string::npos);
  loaded.origin = {};
  BOOST_CHECK_EQUAL(exported("own").find("max-length-factor"), std::string::npos);
  BOOST_CHECK_EQUAL(search_settings_of(load_model(temporary / "own").origin).value().length_factor, 3);
}

/// What our presets train has a factor of the embeddings, which GPT-2, Llama and T5 have not, and interleaved
/// sinusoids, which Marian has not.
BOOST_DATA_TEST_CASE(
    are_made_of_our_own,
    boost::unit_test::data::make(std::vector<std::string>{
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "max_length": 9})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "n_kv_heads": 1, "max_length": 9, "norm_kind": "rms", "positions": "rotary",
                             "activation": "silu", "gated": true, "attention_bias": "none", "feed_forward_bias": false})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "max_length": 9, "parallel_residual": "two_norms", "positions": "rotary",
                             "d_rotary": 2, "activation": "gelu"})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 20, "d_ff": 8,
                             "n_heads": 2, "max_length": 9, "parallel_residual": "one_norm", "positions": "rotary",
                             "d_rotary": 6, "activation": "gelu_tanh", "output_bias": true, "n_kv_heads": 1})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "max_length": 9, "norm_kind": "rms_plus_one", "positions": "rotary",
                             "activation": "gelu_tanh", "gated": true, "attention_bias": "none",
                             "feed_forward_bias": false})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 3, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "max_length": 9, "norm": "sandwich", "norm_kind": "rms_plus_one", "qk_norm": true,
                             "positions": "rotary", "activation": "gelu_tanh", "gated": true, "attention_bias": "none",
                             "feed_forward_bias": false, "score_width": 5, "sliding_window": 2, "window_layers": "wf",
                             "rope_local_base": 20})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "max_length": 9, "norm": "sandwich", "norm_kind": "rms_plus_one", "qk_norm": true,
                             "positions": "rotary", "activation": "gelu_tanh", "gated": true, "attention_bias": "all",
                             "feed_forward_bias": false, "tied": "none", "rope_scaling": "linear", "rope_factor": 2})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "n_kv_heads": 1, "max_length": 9, "norm_kind": "rms", "positions": "rotary",
                             "activation": "silu", "gated": true, "attention_bias": "qkv", "feed_forward_bias": false,
                             "sliding_window": 2, "window_layers": "fw"})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "n_kv_heads": 1, "max_length": 9, "norm_kind": "rms", "positions": "rotary",
                             "activation": "silu", "gated": true, "attention_bias": "none", "feed_forward_bias": false,
                             "sliding_window": 2, "window_layers": "wf"})",
        R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 2, "d_model": 12, "d_ff": 8,
                             "n_heads": 2, "n_kv_heads": 1, "max_length": 9, "norm": "output", "norm_kind": "rms",
                             "qk_norm": true, "qk_norm_over": "all", "positions": "rotary", "activation": "silu", "gated": true,
                             "attention_bias": "none", "feed_forward_bias": false})",
        R"({"architecture": "transformer", "source_vocab_size": 20, "target_vocab_size": 20, "n_encoder_layers": 1,
                             "n_decoder_layers": 2, "d_model": 12, "d_ff": 8, "n_heads": 2, "max_length": 9})",
        R"({"architecture": "transformer", "source_vocab_size": 20, "target_vocab_size": 20, "n_encoder_layers": 1,
                             "n_decoder_layers": 1, "d_model": 12, "d_ff": 8, "n_heads": 2, "max_length": 9,
                             "tied": "none", "output_bias": true, "decoder_d_ff": 10, "activation": "gelu"})",
        R"({"architecture": "transformer", "source_vocab_size": 20, "target_vocab_size": 20, "n_encoder_layers": 1,
                             "n_decoder_layers": 1, "d_model": 12, "d_ff": 8, "n_heads": 2, "max_length": 9, "norm": "pre",
                             "norm_kind": "rms", "positions": "relative_buckets", "activation": "gelu_tanh", "gated": true,
                             "attention_bias": "none", "feed_forward_bias": false, "score_scale": "1"})"}),
    config) {
  const TemporaryFolder temporary;
  const text::Tokenizer ids = text::Tokenizer::of_ids(20, {-1, -1, 0, 0, -1, -1, -1});
  LoadedModel own{make_model<float>(config), ids, ids, {}, {}, {}, {}};
  own.model->parameters.initialize(3);
  complete(own, "own", own.model->config_json);
  foreign::export_model(own, temporary / "out");
  const LoadedModel again = load_model(temporary / "out");
  const auto logits = [](const LoadedModel& loaded) {
    PackedTokens tokens;
    tokens.append(std::vector<std::int32_t>{0, 7, 3, 19, 7});
    InferencePass pass(*loaded.model);
    const Var<float> embedded = loaded.model->embed(pass, Side::target, tokens);
    std::optional<Encoded<float>> memory;
    if (loaded.model->encoder) memory = loaded.model->encode(pass, tokens);
    const Var<float> states =
        loaded.model->decode(pass, memory ? &*memory : nullptr, embedded, tokens.rows).states;
    const Matrix<const float> m = loaded.model->needed_words().logits(pass, states).value();
    std::vector<float> values;
    for (std::int64_t i = 0; i < m.rows; ++i) values.insert(values.end(), m.row(i), m.row(i) + m.cols);
    return values;
  };
  const std::vector<float> wanted = logits(own), got = logits(again);
  BOOST_REQUIRE_EQUAL(got.size(), wanted.size());
  float largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    BOOST_CHECK_SMALL(got[i] - wanted[i], 1e-5f);
    largest = std::max(largest, std::abs(wanted[i]));
  }
  BOOST_CHECK_GT(largest, 0.1f);
}

BOOST_AUTO_TEST_CASE(are_not_made_of_what_has_other_layers) {
  const TemporaryFolder temporary;
  const text::Tokenizer ids = text::Tokenizer::of_ids(20, {-1, -1, 0, 0, -1, -1, -1});
  LoadedModel own{
      make_model<float>(
          R"({"architecture": "decoder", "target_vocab_size": 20, "n_decoder_layers": 1, "d_model": 4,
                          "d_ff": 4, "n_heads": 2, "positions": "alibi", "norm": "post"})"),
      ids,
      ids,
      {},
      {},
      {},
      {}};
  own.model->parameters.initialize(3);
  BOOST_CHECK_EXCEPTION(foreign::export_model(own, temporary / "out"), Error, [](const Error& e) {
    const std::string message = e.what();
    return message.find("as gpt2: positions is alibi, wanted learned") != std::string::npos &&
           message.find("norm is post, wanted pre") != std::string::npos;
  });
  BOOST_CHECK(!std::filesystem::exists(temporary / "out"));
}

/// A tokenizer.json holds one vocabulary: two of them are not to become one.
BOOST_AUTO_TEST_CASE(keep_the_vocabularies_of_both_sides) {
  const TemporaryFolder temporary;
  const auto read = [](const char* name) {
    const auto tokenizer = text::Tokenizer::from_foreign(
        text::read_foreign_tokenizer(std::string(HEED_TESTDATA) + "/tokenizers/" + name));
    SpecialIds special = tokenizer.special();
    special.bos = 20;
    special.eos = 21;
    return tokenizer.fitted(tokenizer.size(), special);
  };
  text::Tokenizer source = read("bert.json"), target = read("bert-cased.json");
  const auto size = std::max(source.size(), target.size());
  source = source.fitted(size, source.special());
  target = target.fitted(size, target.special());
  LoadedModel own{
      make_model<float>(
          concat(R"({"architecture": "transformer", "source_vocab_size": )", size,
                 R"(, "target_vocab_size": )", size,
                 R"(, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 4, "d_ff": 4, "n_heads": 2,
                         "max_length": 9, "tied": "none", "output_bias": true})")),
      source,
      target,
      {},
      {},
      {},
      {}};
  own.model->parameters.initialize(3);
  complete(own, "own", own.model->config_json);
  foreign::export_model(own, temporary / "out");
  const LoadedModel again = load_model(temporary / "out");
  BOOST_CHECK(again.source.vocabulary().pieces() == source.vocabulary().pieces());
  BOOST_CHECK(again.target.vocabulary().pieces() == target.vocabulary().pieces());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
