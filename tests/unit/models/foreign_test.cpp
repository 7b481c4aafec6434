// Folders of other programs' models: what is read of them, as the programs do.
#include "models/foreign/import.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "base/error.h"
#include "models/foreign/export.h"
#include "models/search_settings.h"
#include "support/foreign_folder.h"
#include "support/temporary_folder.h"
#include "text/foreign_tokenizer.h"

using namespace heed;
using namespace heed::test;
using foreign::Json;

namespace {

BOOST_AUTO_TEST_SUITE(foreign_models)

/// A setting that is not stated is what it is in transformers (scripts/import-goldens): stating that changes
/// nothing, be it the model or what is wrong with it.
BOOST_AUTO_TEST_CASE(take_what_is_not_stated_as_transformers_does) {
  const Json defaults = foreign::read_json_object(std::string(HEED_TESTDATA) + "/import-defaults.json");
  std::size_t compared = 0;
  for (const char* name : {"bert-masked",
                           "roberta-classes",
                           "xlm-roberta-masked",
                           "camembert-classes",
                           "mpnet-masked",
                           "electra-classes",
                           "distilbert-classes",
                           "distilbert-tokens",
                           "modernbert-masked",
                           "modernbert-mean",
                           "vit",
                           "gpt2",
                           "gpt-neox",
                           "phi",
                           "starcoder2",
                           "opt",
                           "llama",
                           "mistral",
                           "qwen2",
                           "qwen3",
                           "qwen3-sentence",
                           "ministral",
                           "gemma",
                           "gemma3",
                           "gemma3-sentence",
                           "olmo2",
                           "phi3",
                           "marian",
                           "t5",
                           "nllb",
                           "mbart",
                           "bart"}) {
    const TemporaryFolder temporary;
    Folder folder(name);
    const Json own = folder.config;
    const auto outcome = [&] {
      folder.write(temporary / "m");
      try {
        return load_model(temporary / "m").digest;
      } catch (const Error& error) {
        return std::string(error.what());
      }
    };
    for (const auto& [field, value] : defaults.at(own.at("model_type").get<std::string>()).items()) {
      folder.config = own;
      folder.config[field] = value;
      const std::string stated = outcome();
      folder.config.erase(field);
      std::string missing = outcome();
      const std::string said = field + " is missing";
      if (const std::size_t at = missing.find(said); at != std::string::npos)
        missing.replace(at, said.size(), concat(field, " is ", value.dump()));
      BOOST_TEST_CONTEXT(name << " without " << field) BOOST_TEST(missing == stated);
      ++compared;
    }
  }
  BOOST_TEST(compared > 200);
}

/// ELECTRA's discriminator is what its users fine-tune: its encoder, without what it was trained for.
BOOST_AUTO_TEST_CASE(take_the_encoder_of_a_discriminator) {
  const TemporaryFolder temporary;
  const Folder bare("electra-sentence");
  bare.write(temporary / "bare");
  Folder folder = bare;
  folder.config["architectures"] = Json::array({"ElectraForPreTraining"});
  for (const auto& [name, tensor] : bare.tensors.tensors()) folder.rename(name, "electra." + name);
  folder.tensors.add("discriminator_predictions.dense.weight", ones({32, 32}));
  folder.tensors.add("discriminator_predictions.dense.bias", ones({32}));
  folder.tensors.add("discriminator_predictions.dense_prediction.weight", ones({1, 32}));
  folder.tensors.add("discriminator_predictions.dense_prediction.bias", ones({1}));
  folder.write(temporary / "discriminator");
  BOOST_CHECK_EQUAL(load_model(temporary / "discriminator").digest, load_model(temporary / "bare").digest);
}

/// Each name that transformers has for a formula of heed's, in every family that states one.
BOOST_AUTO_TEST_CASE(know_the_same_activations) {
  constexpr std::pair<const char*, const char*> names[] = {{"gelu", "gelu"},
                                                           {"gelu_new", "gelu_tanh"},
                                                           {"gelu_fast", "gelu_tanh"},
                                                           {"gelu_pytorch_tanh", "gelu_tanh"},
                                                           {"quick_gelu", "gelu_sigmoid"},
                                                           {"relu", "relu"},
                                                           {"silu", "silu"},
                                                           {"swish", "silu"}};
  for (const auto& [model, field] : {std::pair{"bert-masked", "hidden_act"},
                                     {"roberta-classes", "hidden_act"},
                                     {"distilbert-masked", "activation"},
                                     {"modernbert-tokens", "hidden_activation"},
                                     {"vit", "hidden_act"},
                                     {"gpt2", "activation_function"},
                                     {"gpt-neox", "hidden_act"},
                                     {"opt", "activation_function"},
                                     {"llama", "hidden_act"},
                                     {"marian", "activation_function"},
                                     {"bart", "activation_function"}}) {
    for (const auto& [theirs, ours] : names) {
      const TemporaryFolder temporary;
      Folder folder(model);
      folder.config[field] = theirs;
      folder.write(temporary / "m");
      const Json config = Json::parse(load_model(temporary / "m").model->config_json);
      BOOST_TEST(config.value("activation", "relu") == ours, model << ", " << theirs);
    }
  }
}

/// transformers 4 states after how many layers one sees everything, and both bases; version 5 lists the layers.
BOOST_AUTO_TEST_CASE(take_both_forms_of_modernbert) {
  const TemporaryFolder temporary;
  Folder folder("modernbert-classes");
  const std::string digest = load_model(std::string(HEED_TESTDATA) + "/import/modernbert-classes").digest;
  for (const char* field : {"global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"})
    folder.config.erase(field);
  folder.config["layer_types"] = {"full_attention", "sliding_attention"};
  folder.config["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 300}}},
                                      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 20}}}};
  folder.write(temporary / "listed");
  BOOST_CHECK_EQUAL(load_model(temporary / "listed").digest, digest);
  const auto window_of = [&](const Json& types, const std::string& name) {
    folder.config["layer_types"] = types;
    folder.write(temporary / name);
    const Json config = Json::parse(load_model(temporary / name).model->config_json);
    return concat(config.value("sliding_window", 0), ' ', config.value("window_layers", "w"), ' ',
                  config.value("rope_local_base", 0.0));
  };
  BOOST_CHECK_EQUAL(window_of({"full_attention", "sliding_attention"}, "second"), "4 fw 20");
  BOOST_CHECK_EQUAL(window_of({"sliding_attention", "sliding_attention"}, "both"), "4 w 20");
  BOOST_CHECK_EQUAL(window_of({"full_attention", "full_attention"}, "neither"), "0 w 0");
}

/// OPT drops nothing of its embeddings, whatever its layers drop.
BOOST_AUTO_TEST_CASE(take_no_dropout_on_the_embeddings_of_opt) {
  const LoadedModel opt = load_model(std::string(HEED_TESTDATA) + "/import/opt");
  const Json config = Json::parse(opt.model->config_json);
  BOOST_TEST(config.at("dropout").get<double>() > 0);
  BOOST_TEST(config.at("embedding_dropout").get<double>() == 0);
}

/// Old files of Gemma say gelu, and mean what it was trained with.
BOOST_AUTO_TEST_CASE(take_gelu_of_gemma_as_transformers_does) {
  const TemporaryFolder temporary;
  Folder folder("gemma");
  folder.config["hidden_act"] = "gelu";
  folder.write(temporary / "m");
  BOOST_CHECK_EQUAL(load_model(temporary / "m").digest,
                    load_model(std::string(HEED_TESTDATA) + "/import/gemma").digest);
}

/// As Qwen2Config and Qwen3Config of transformers read it: `max_window_layers` counts only without
/// `layer_types`.
BOOST_AUTO_TEST_CASE(read_the_window_of_qwen) {
  const Json slides = Json::array({"sliding_attention"}), looks_at_all = Json::array({"full_attention"});
  for (const char* name : {"qwen2", "qwen3"}) {
    const TemporaryFolder temporary;
    Folder folder(name);
    folder.config["max_position_embeddings"] = 8192;
    const auto window = [&](const Json& use, const Json& window, const Json& full, const Json& types) {
      folder.config["use_sliding_window"] = use;
      for (const auto& [field, value] :
           {std::pair{"sliding_window", window}, std::pair{"max_window_layers", full},
            std::pair{"layer_types", types}})
        if (value.is_null())
          folder.config.erase(field);
        else
          folder.config[field] = value;
      folder.write(temporary / "m");
      const std::string config = load_model(temporary / "m").model->config_json;
      return Json::parse(config).value("sliding_window", std::int64_t{0});  // left out where there is none
    };
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(window(true, 4, 0, nullptr) == 4);
      BOOST_TEST(window(true, nullptr, 0, nullptr) == 4096);
      BOOST_TEST(window(true, 4, 1, nullptr) == 0);
      BOOST_TEST(window(true, 4, nullptr, nullptr) == 0);
      BOOST_TEST(window(true, 4, nullptr, slides) == 4);
      BOOST_TEST(window(true, 4, 0, looks_at_all) == 0);
      BOOST_TEST(window(false, 4, 0, nullptr) == 0);
    }
  }
}

/// The shortest letters that give layer_types, or what stands for them, when they are repeated.
BOOST_AUTO_TEST_CASE(have_windows_in_some_layers) {
  const TemporaryFolder temporary;
  const auto letters = [&](Folder& folder) {
    folder.write(temporary / "m");
    const Json config = Json::parse(load_model(temporary / "m").model->config_json);
    return std::tuple(config.value("sliding_window", 0), config.value("window_layers", "w"),
                      config.value("rope_local_base", 0.0));
  };
  Folder gemma("gemma3"), qwen("qwen2-window"), ministral("ministral");
  BOOST_TEST((letters(gemma) == std::tuple(4, "wwf", 100.0)));
  gemma.config["layer_types"] = Json::array({"sliding_attention", "full_attention", "sliding_attention"});
  BOOST_TEST((letters(gemma) == std::tuple(4, "wf", 100.0)));
  gemma.config["sliding_window"] = 1'000'000;  // too far to hide anything, but it tells the bases
  BOOST_TEST((letters(gemma) == std::tuple(1'000'000, "wf", 100.0)));
  gemma.config["layer_types"] = Json::array({"full_attention", "full_attention", "full_attention"});
  BOOST_TEST((letters(gemma) == std::tuple(0, "w", 0.0)));
  gemma.config["sliding_window"] = nullptr;
  BOOST_TEST((letters(gemma) == std::tuple(0, "w", 0.0)));
  for (const auto& [pattern, wanted] : {std::pair(2, "wf"), {3, "wwf"}, {4, "w"}}) {
    gemma.config.erase("layer_types");
    gemma.config["sliding_window_pattern"] = pattern;
    gemma.config["sliding_window"] = 4;
    BOOST_TEST((letters(gemma) == std::tuple(4, wanted, 100.0)));
  }
  BOOST_TEST((letters(qwen) == std::tuple(4, "fw", 0.0)));
  BOOST_TEST((letters(ministral) == std::tuple(4, "wf", 0.0)));
  ministral.config["model_type"] = "mistral";  // which transformers takes as a Ministral
  BOOST_TEST((letters(ministral) == std::tuple(4, "wf", 0.0)));
}

/// As transformers' code does, whatever else the config says.
BOOST_AUTO_TEST_CASE(have_the_windows_that_transformers_reads) {
  const TemporaryFolder temporary;
  const auto digest = [&](const std::string& name, const char* type) {
    Folder folder(name);
    folder.config["sliding_window"] = 4;
    folder.config["layer_types"] = Json::array();
    const std::int64_t n_layers = folder.config["num_hidden_layers"];
    for (std::int64_t i = 0; i < n_layers; ++i) folder.config["layer_types"].push_back(type);
    folder.write(temporary / "m");
    return load_model(temporary / "m").digest;
  };
  for (const std::string name : {"llama", "gemma", "phi3"})  // of which the last has a window of 4
    for (const char* type : {"full_attention", "sliding_attention"})
      BOOST_CHECK_EQUAL(digest(name, type), load_model(HEED_TESTDATA "/import/" + name).digest);
}

BOOST_AUTO_TEST_CASE(take_how_pictures_are_prepared) {
  const TemporaryFolder temporary;
  Folder folder("vit");
  const LoadedModel plain = load_model(std::string(HEED_TESTDATA) + "/import/vit");
  BOOST_CHECK_EQUAL(plain.model->images->mean[2], 0.5);
  folder.files["preprocessor_config.json"] =
      R"({"do_normalize": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2,
          "do_rescale": true, "rescale_factor": 0.00392156862745098, "size": {"height": 16, "width": 16},
          "image_processor_type": "ViTImageProcessorFast", "do_convert_rgb": null})";
  folder.write(temporary / "usual");
  BOOST_CHECK_EQUAL(load_model(temporary / "usual").digest, plain.digest);
  folder.files["preprocessor_config.json"] =
      R"({"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.25, 0.25, 0.25], "size": 16})";
  folder.write(temporary / "other");
  const ImagePatches images = *load_model(temporary / "other").model->images;
  BOOST_CHECK_EQUAL(images.mean[0], 0.48145466);
  BOOST_CHECK_EQUAL(images.mean[2], 0.40821073);
  BOOST_CHECK_EQUAL(images.deviation[1], 0.25);
  folder.files["preprocessor_config.json"] = R"({"do_normalize": false})";
  folder.write(temporary / "bare");
  BOOST_CHECK_EQUAL(load_model(temporary / "bare").model->images->deviation[0], 1);
}

BOOST_AUTO_TEST_CASE(take_what_the_user_overrules) {
  const TemporaryFolder temporary;
  Folder folder("gpt2");
  const std::string digest = load_model(std::string(HEED_TESTDATA) + "/import/gpt2").digest;
  folder.config["new_thing"] = 3;
  folder.tensors.add("score.weight", ones({3, 32}));
  folder.write(temporary / "m");
  foreign::ImportOptions options;
  options.ignored_fields = {"new_thing"};
  BOOST_CHECK_THROW(foreign::load(temporary / "m", options), Error);
  options.ignored_tensors = {"score.*"};
  BOOST_CHECK_EQUAL(foreign::load(temporary / "m", options).digest, digest);
  options.ignored_tensors.emplace_back("nope*");
  BOOST_CHECK_THROW(foreign::load(temporary / "m", options), UsageError);
  options.ignored_tensors.pop_back();
  options.ignored_fields.emplace_back("nope");
  BOOST_CHECK_THROW(foreign::load(temporary / "m", options), UsageError);
}

BOOST_AUTO_TEST_CASE(take_the_search_that_another_file_says) {
  const TemporaryFolder temporary;
  Folder folder("marian");
  folder.files["generation_config.json"] =
      R"({"num_beams": 3, "new_search": 1, "do_sample": false, "top_p": 0.9})";
  folder.write(temporary / "m");
  foreign::ImportOptions options;
  options.ignored_fields = {"generation_config.json/new_search"};
  BOOST_CHECK_EQUAL(search_settings_of(foreign::load(temporary / "m", options).origin).value().beam, 3);

  const std::string npz = temporary / "npz";
  std::filesystem::create_directory(npz);
  std::filesystem::copy_file(std::string(HEED_TESTDATA) + "/import/marian-npz-post/model.npz",
                             npz + "/model.npz");
  std::ofstream(npz + "/decoder.yml")
      << "models:\n  - model.npz\nbeam-size: 7\nmini-batch: 1\nnormalize: 1\n";
  BOOST_CHECK_EQUAL(search_settings_of(load_model(npz).origin).value().beam, 7);
  std::ofstream(npz + "/decoder.yml") << "beam-size: wide\nnew-search: 1\n";
  BOOST_CHECK_EXCEPTION(load_model(npz), Error, [](const Error& e) {
    const std::string message = e.what();
    return message.find("decoder.yml/beam-size is \"wide\"") != std::string::npos &&
           message.find("decoder.yml/new-search = 1 is unknown") != std::string::npos;
  });
}

/// As Bergamot and Firefox Translations ship students.
BOOST_AUTO_TEST_CASE(find_what_is_beside_a_binary_model_of_marian) {
  const TemporaryFolder temporary;
  const std::string student = std::string(HEED_TESTDATA) + "/import/marian-binary-int8",
                    weights = "model.xxyy.intgemm.alphas.bin",
                    pieces = std::string(HEED_TESTDATA) + "/sentencepiece/direct/vocab.spm";
  const auto copy = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, temporary / to, std::filesystem::copy_options::overwrite_existing);
  };
  const auto origin_of = [&](const std::string& path) { return Json::parse(load_model(path).origin); };
  copy(student + "/" + weights, weights);
  const std::string lone = temporary / weights;
  // Its shortlist ends likewise, and is no model.
  std::ofstream(temporary / "lex.50.50.xxyy.s2t.bin") << "\x01\x02";
  BOOST_CHECK_EQUAL(load_model(temporary / "").source.piece(2), "2");
  BOOST_CHECK_EQUAL(search_settings_of(load_model(lone).origin).value().beam, 12);  // Marian's own
  copy(pieces, "srcvocab.xxyy.spm");
  copy(pieces, "trgvocab.xxyy.spm");
  BOOST_CHECK_EQUAL(load_model(lone).source.piece(2), "s");
  BOOST_CHECK_EQUAL(load_model(lone).target.piece(2), "s");
  std::filesystem::remove(temporary / "srcvocab.xxyy.spm");
  std::filesystem::remove(temporary / "trgvocab.xxyy.spm");
  copy(pieces, "vocab.xxyy.spm");
  copy(student + "/config.intgemm8bitalpha.yml", "config.intgemm8bitalpha.yml");
  const LoadedModel loaded = load_model(temporary / "");
  BOOST_CHECK_EQUAL(loaded.source.piece(2), "s");
  BOOST_CHECK_EQUAL(loaded.target.piece(2), "s");
  BOOST_CHECK_EQUAL(loaded.digest, load_model(lone).digest);
  BOOST_CHECK_EQUAL(search_settings_of(loaded.origin).value().beam, 1);
  BOOST_CHECK_EQUAL(origin_of(lone)["formulas"]["weights"], "scaled int8");
  std::ofstream(temporary / "config.train.yml") << "after: 10e\n";  // of a training
  std::ofstream(temporary / "config.intgemm8bitshift.yml") << "beam-size: 3\n";
  BOOST_CHECK_EQUAL(load_model(temporary / "").origin, loaded.origin);
  // Which of two is meant is not guessed.
  copy(student + "/" + weights, "model.other.bin");
  BOOST_CHECK_EXCEPTION(load_model(temporary / ""), Error, [](const Error& e) {
    return std::string(e.what()).find("give one of its model*.bin by name") != std::string::npos;
  });
  BOOST_CHECK_EQUAL(load_model(lone).digest, loaded.digest);
}

BOOST_AUTO_TEST_CASE(state_the_files_that_they_were_made_from) {
  const TemporaryFolder temporary;
  foreign::ImportOptions options;
  options.states_files = true;
  const auto files_of = [&](const std::string& path) {
    std::vector<std::string> names;
    const Json origin = Json::parse(foreign::load(path, options).origin);
    for (const auto& [name, digest] : origin["files"].items())
      names.push_back(digest.get<std::string>().size() == 64 ? name : "");
    return joined(names);
  };
  BOOST_CHECK_EQUAL(files_of(std::string(HEED_TESTDATA) + "/import/llama-shards"),
                    "config.json, generation_config.json, model-00001-of-00002.safetensors, "
                    "model-00002-of-00002.safetensors, model.safetensors.index.json");
  BOOST_CHECK_EQUAL(files_of(std::string(HEED_TESTDATA) + "/import/marian"),
                    "config.json, generation_config.json, model.safetensors");
  Folder folder("llama");
  folder.config["vocab_size"] = 425;
  for (const char* name : {"lm_head.weight", "model.embed_tokens.weight"}) {
    folder.tensors.erase(name);
    folder.tensors.add(name, ones({425, 32}));
  }
  folder.write(temporary / "m");
  std::filesystem::copy_file(std::string(HEED_TESTDATA) + "/tokenizers/gpt2.json",
                             temporary / "m/tokenizer.json");
  BOOST_CHECK_EQUAL(files_of(temporary / "m"), "config.json, model.safetensors, tokenizer.json");
}

BOOST_AUTO_TEST_CASE(untie_copies_that_differ) {
  const TemporaryFolder temporary;
  Folder folder("gpt2");
  const Tensor table = folder.tensors.at("transformer.wte.weight");
  folder.tensors.add("lm_head.weight", table);
  folder.write(temporary / "copy");
  folder.tensors.at("lm_head.weight").values<float>()[5] += 1;
  folder.write(temporary / "other");
  const LoadedModel tied = load_model(temporary / "copy"), untied = load_model(temporary / "other");
  BOOST_CHECK(tied.model->words->tied);
  BOOST_REQUIRE(!untied.model->words->tied);
  const auto output = std::as_const(untied.model->parameters).view("decoder/output/weight");
  BOOST_CHECK_EQUAL(output(5, 0), table.values<float>()[5] + 1);
}

BOOST_AUTO_TEST_CASE(know_rows_that_no_piece_has) {
  const TemporaryFolder temporary;
  Folder folder("gpt2");
  folder.write(temporary / "m");
  std::filesystem::copy_file(std::string(HEED_TESTDATA) + "/tokenizers/gpt2.json",
                             temporary / "m/tokenizer.json");
  BOOST_CHECK_EXCEPTION(load_model(temporary / "m"), Error, [](const Error& e) {
    return std::string(e.what()).find("420 pieces, but the weights have 99 rows") != std::string::npos;
  });
  const auto gpt2 = text::Tokenizer::from_foreign(
      text::read_foreign_tokenizer(std::string(HEED_TESTDATA) + "/tokenizers/gpt2.json"));
  std::vector<std::string> notes;
  const text::Tokenizer fitted = foreign::fitted(gpt2, 425, {-1, -1, 0, 0, -1, -1, -1}, "x", notes);
  BOOST_CHECK_EQUAL(notes.size(), 1);
  BOOST_CHECK_EQUAL(fitted.size(), 425);
  BOOST_CHECK_EQUAL(fitted.piece(424), "<unused_4>");
  BOOST_CHECK(fitted.special().produced(419) && !fitted.special().produced(420));
  BOOST_CHECK(fitted.special().produced(0));  // bos, but eos too
  BOOST_CHECK(fitted.encode("two kings") == gpt2.encode("two kings"));
  BOOST_CHECK_EQUAL(text::Tokenizer::from_map(fitted.to_map()).digest(), fitted.digest());
  notes.clear();  // what fills rows and ends texts only ends them
  BOOST_CHECK_EQUAL(foreign::fitted(gpt2, 420, {7, 7, 0, 0, -1, -1, -1}, "x", notes).special().pad, -1);
  BOOST_CHECK_EQUAL(notes.size(), 1);
}

/// The tokenizer of Gemma 3 has a token for images, for which its models of text have no row.
BOOST_AUTO_TEST_CASE(leave_out_special_tokens_without_a_row) {
  const std::string testdata = HEED_TESTDATA;
  for (const std::string file : {"tokenizer.model", "tokenizer.json"}) {
    const TemporaryFolder temporary;
    const bool is_model = file == "tokenizer.model";
    const std::string path = testdata + (is_model ? "/sentencepiece/gemma" : "/tokenizers/gemma.json");
    const auto own = text::Tokenizer::from_foreign(text::read_foreign_tokenizer(path));
    Folder folder("gemma3");
    folder.config["vocab_size"] = own.size();
    folder.tensors.erase("model.embed_tokens.weight");
    folder.tensors.add("model.embed_tokens.weight", ones({own.size(), 32}));
    const auto with_token = [&](std::int64_t id, bool special) {
      if (is_model) {
        folder.files[file] = bytes_of(path + "/tokenizer.model");
        // Listed twice, as real folders have it.
        Json settings = Json::parse(bytes_of(path + "/tokenizer_config.json"));
        settings["added_tokens_decoder"] = {
            {std::to_string(id), {{"content", "<image_soft_token>"}, {"special", true}}}};
        for (std::int32_t i = 0; i < own.size(); ++i)  // and a piece that the model has
          if (own.piece(i) == text::without_line_ends("\n"))
            settings["added_tokens_decoder"][std::to_string(i)] = {{"content", "\n"}, {"special", false}};
        BOOST_REQUIRE_EQUAL(settings["added_tokens_decoder"].size(), 2);
        folder.files["tokenizer_config.json"] = settings.dump();
        folder.files["added_tokens.json"] = Json{{"<image_soft_token>", id}}.dump();
      } else {
        Json json = Json::parse(bytes_of(path));
        json["added_tokens"].push_back({{"id", id}, {"content", "<image_soft_token>"}, {"special", special}});
        folder.files[file] = json.dump();
      }
      const std::string to = temporary / concat(id, special);
      folder.write(to);
      return load_model(to).target;
    };
    const text::Tokenizer found = with_token(own.size(), true);
    BOOST_CHECK_EQUAL(found.size(), own.size());
    BOOST_CHECK(found.encode("the <image_soft_token> king") == own.encode("the <image_soft_token> king"));
    if (!is_model)  // text may spell it
      BOOST_CHECK_EXCEPTION(with_token(own.size(), false), Error, [](const Error& e) {
        return std::string(e.what()).find("do the files belong together?") != std::string::npos;
      });
  }
}

BOOST_AUTO_TEST_CASE(end_at_each_of_several_ids) {
  const TemporaryFolder temporary;
  Folder folder("llama");
  folder.config["eos_token_id"] = {7, 8};
  folder.files["generation_config.json"] = R"({"eos_token_id": [8, 7, 3]})";
  folder.write(temporary / "m");
  const LoadedModel loaded = load_model(temporary / "m");
  BOOST_CHECK_EQUAL(loaded.model->target_special.eos, 7);
  BOOST_CHECK_EQUAL(search_settings_of(loaded.origin).value().more_ends, "3 8");
  foreign::export_model(loaded, temporary / "out");
  BOOST_CHECK_EQUAL(search_settings_of(load_model(temporary / "out").origin).value().more_ends, "3 8");
}

/// The first token of a translation: forced_bos_token_id, or else what tgt_lang names. It survives an export.
BOOST_AUTO_TEST_CASE(begin_with_the_language_that_is_stated) {
  const auto first = [](const std::string& path) {
    return search_settings_of(load_model(path).origin).value().first_token;
  };
  const TemporaryFolder temporary;
  BOOST_CHECK_EQUAL(first(std::string(HEED_TESTDATA) + "/import/nllb"), 302);
  BOOST_CHECK_EQUAL(first(std::string(HEED_TESTDATA) + "/import/bart"), 0);
  Folder folder("nllb");
  const std::string own = std::string(HEED_TESTDATA) + "/import/nllb/";
  for (const char* name : {"sentencepiece.bpe.model", "tokenizer_config.json"})
    folder.files[name] = bytes_of(own + name);
  folder.files["generation_config.json"] = "{}";
  folder.write(temporary / "none");
  BOOST_CHECK_EQUAL(first(temporary / "none"), SpecialIds::kAbsent);
  Json tokenizer = Json::parse(folder.files.at("tokenizer_config.json"));
  tokenizer["tgt_lang"] = "zho_Hans";
  folder.files["tokenizer_config.json"] = tokenizer.dump();
  folder.write(temporary / "stated");
  BOOST_CHECK_EQUAL(first(temporary / "stated"), 303);
  foreign::export_model(load_model(temporary / "stated"), temporary / "out");
  BOOST_CHECK_EQUAL(first(temporary / "out"), 303);
  const Json written = Json::parse(bytes_of(temporary / "out/tokenizer_config.json"));
  BOOST_CHECK_EQUAL(written["tgt_lang"], "zho_Hans");
  BOOST_CHECK_EQUAL(written["tokenizer_class"], "NllbTokenizer");
  // The mask before the codes, as transformers 5 numbers them where no file says otherwise.
  Json added = Json::object();
  for (const auto& [id, token] : tokenizer["added_tokens_decoder"].items())
    added[std::to_string(301 + std::stoi(id) % 300 % 4)] = token;
  tokenizer["added_tokens_decoder"] = added;
  folder.files["tokenizer_config.json"] = tokenizer.dump();
  folder.write(temporary / "rotated");
  const LoadedModel rotated = load_model(temporary / "rotated");
  BOOST_CHECK_EQUAL(rotated.target.piece(301), "<mask>");
  foreign::export_model(rotated, temporary / "again");
  BOOST_CHECK_EQUAL(load_model(temporary / "again").digest, rotated.digest);
  folder.files["generation_config.json"] = R"({"forced_bos_token_id": 305})";
  folder.write(temporary / "beyond");
  BOOST_CHECK_EXCEPTION(load_model(temporary / "beyond"), Error, [](const Error& e) {
    return std::string(e.what()).find(
               "forced_bos_token_id is 305, wanted an id below the vocabulary's 305") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(do_not_begin_twice) {
  const TemporaryFolder temporary;
  std::filesystem::copy(std::string(HEED_TESTDATA) + "/sentencepiece/llama", temporary / "t");
  const auto complete_with = [&](const char* settings) {
    std::ofstream(temporary / "t/tokenizer_config.json") << settings;
    const auto tokenizer = text::Tokenizer::from_foreign(text::read_foreign_tokenizer(temporary / "t"));
    LoadedModel own{
        make_model<float>(concat(R"({"architecture": "decoder", "target_vocab_size": )", tokenizer.size(),
                                 R"(, "n_decoder_layers": 1, "d_model": 4, "d_ff": 4, "n_heads": 2})")),
        tokenizer,
        tokenizer,
        {},
        {},
        {},
        {}};
    own.model->parameters.initialize(3);
    complete(own, "own", own.model->config_json);
    return own.model->reads_as_given;
  };
  BOOST_CHECK(complete_with(R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": false})"));
  BOOST_CHECK_EXCEPTION(
      complete_with(R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true, "add_eos_token": true})"),
      Error,
      [](const Error& e) { return std::string(e.what()).find("both <s> and </s>") != std::string::npos; });
  BOOST_CHECK(!complete_with(
      R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false, "add_eos_token": true})"));
}

BOOST_AUTO_TEST_CASE(are_the_same_as_their_model_file) {
  const TemporaryFolder temporary;
  const LoadedModel loaded = load_model(std::string(HEED_TESTDATA) + "/import/qwen3");
  save_model(temporary / "m.h5", *loaded.model, texts_of(loaded), origin_map(loaded.origin));
  const LoadedModel file = load_model(temporary / "m.h5");
  BOOST_CHECK_EQUAL(file.digest, loaded.digest);
  BOOST_CHECK_EQUAL(file.origin, loaded.origin);
  BOOST_CHECK(file.model->reads_as_given);
}

/// Of a folder, and of the model file made from it, a tool keeps the same part.
BOOST_AUTO_TEST_CASE(are_parts_of_the_whole) {
  const TemporaryFolder temporary;
  struct Case {
    const char* name;
    Needed needed;
    bool layers, table;  ///< whether these are kept
  };
  const Needed embed = Needed::source_embedding, encode = Needed::encoder, decode = Needed::decoder;
  for (const Case& each : std::initializer_list<Case>{{"bert-masked", embed, false, true},
                                                      {"bert-masked", encode, true, false},
                                                      {"bert-masked", decode, false, true},
                                                      {"bert-classes", decode, false, false},
                                                      {"vit", embed, false, false},
                                                      {"gpt2", embed, false, true},
                                                      {"gpt2", decode, true, true},
                                                      {"llama", embed, false, true},
                                                      {"t5", Needed::target_embedding, false, true}}) {
    BOOST_TEST_CONTEXT(each.name << " " << static_cast<int>(each.needed)) {
      const std::string path = concat(HEED_TESTDATA, "/import/", each.name);
      const LoadedModel whole = load_model(path), part = load_model(path, each.needed);
      save_model(temporary / "m.h5", *whole.model, texts_of(whole), origin_map(whole.origin));
      const LoadedModel of_file = load_model(temporary / "m.h5", each.needed);
      BOOST_CHECK_EQUAL(part.digest, whole.digest);
      BOOST_CHECK_EQUAL(of_file.digest, whole.digest);
      const ParameterSet<float>&all = whole.model->parameters, &kept = part.model->parameters,
            &kept_of_file = of_file.model->parameters;
      BOOST_CHECK_EQUAL(kept.list().size(), kept_of_file.list().size());
      const auto any = [&](const auto& test) {
        return std::ranges::any_of(kept.list(), test, &Parameter::name);
      };
      BOOST_CHECK_EQUAL(any([](const std::string& name) { return name.find("/layer_") != name.npos; }),
                        each.layers);
      BOOST_CHECK_EQUAL(any([](const std::string& name) { return name.ends_with("embedding/weight"); }),
                        each.table);
      for (const Parameter& p : kept.list()) {
        const Matrix<const float> now = kept.view(p.name), before = all.view(p.name),
                                  there = kept_of_file.view(p.name);
        for (std::int64_t i = 0; i < now.rows; ++i) {
          BOOST_TEST(std::equal(now.row(i), now.row(i) + now.cols, before.row(i)));
          BOOST_TEST(std::equal(now.row(i), now.row(i) + now.cols, there.row(i)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
