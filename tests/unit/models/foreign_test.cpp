// Folders of other programs' models: each with one thing wrong is refused, by a message that says which and
// why.
#include "models/foreign/import.h"

#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>
#include <map>

#include "base/error.h"
#include "io/foreign/safetensors.h"
#include "io/frame_stream.h"
#include "models/foreign/export.h"
#include "models/search_settings.h"
#include "models/shards.h"
#include "support/imported_models.h"
#include "support/temporary_folder.h"
#include "text/foreign_tokenizer.h"

using namespace heed;
using namespace heed::test;
using foreign::Json;

namespace {

/// A folder in memory, to be changed.
struct Folder {
  Json config;
  TensorMap tensors;
  std::map<std::string, std::string> files;  ///< others

  explicit Folder(const std::string& name) {
    const std::string path = std::string(HEED_TESTDATA) + "/import/" + name;
    config = foreign::read_json_object(path + "/config.json");
    const auto file = io::ArrayFile::open(path);
    for (std::size_t i = 0; i < file->arrays().size(); ++i)
      tensors.add(file->arrays()[i].name, file->read(i));
  }
  void rename(const std::string& from, const std::string& to) {
    Tensor tensor = tensors.at(from);
    tensors.erase(from);
    tensors.add(to, std::move(tensor));
  }
  void write(const std::string& path) const {
    std::filesystem::create_directories(path);
    std::ofstream(path + "/config.json") << config;
    io::write_safetensors(path + "/model.safetensors", tensors);
    for (const auto& [name, content] : files) std::ofstream(path + "/" + name) << content;
  }
};

/// One thing wrong, and what the message must have in it.
struct Mutation {
  const char* name;
  const char* folder;
  std::function<void(Folder&)> change;
  std::vector<std::string> words;
};

std::ostream& operator<<(std::ostream& out, const Mutation& mutation) {
  return out << mutation.name;
}

Tensor ones(Shape shape) {
  return Tensor::of<float>(std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1), shape);
}

const std::vector<Mutation> kMutations{
    {"too large a vocabulary",
     "llama",
     [](Folder& f) { f.config["vocab_size"] = 9999999; },
     {"vocab_size is 9999999"}},
    {"too long a table",
     "llama",
     [](Folder& f) {
       f.config["max_position_embeddings"] = 1000000;
       f.config["head_dim"] = 65536;
     },
     {"max_length is 1000000"}},
    {"a classifier of sentences that lost a layer",
     "distilbert-classes",
     [](Folder& f) { f.tensors.erase("pre_classifier.weight"); },
     {"pre_classifier.weight", "missing"}},
    {"another type",
     "gpt2",
     [](Folder& f) { f.config["model_type"] = "gemma2"; },
     {"gemma2", "gpt2", "llama"}},
    {"a type of text and images",
     "gemma3",
     [](Folder& f) {
       f.config = {{"model_type", "gemma3"}, {"text_config", f.config}};
     },
     {"/config.json: model_type is gemma3, which is of text and images", "gemma3_text"}},
    {"no type",
     "gpt2",
     [](Folder& f) { f.config.erase("model_type"); },
     {"/config.json: model_type is missing; architectures is [\"GPT2LMHeadModel\"]", "gpt2, gpt_neox"}},
    {"a type that is no word",
     "gpt2",
     [](Folder& f) { f.config["model_type"] = 3; },
     {"/config.json: model_type is 3; architectures is", "wanted a model of one of bart"}},
    {"several settings at once",
     "gpt2",
     [](Folder& f) {
       f.config["activation_function"] = "mish";
       f.config["add_cross_attention"] = true;
       f.config["new_thing"] = 3;
     },
     {"activation_function is \"mish\", wanted gelu, gelu_new, gelu_fast",
      "add_cross_attention is true, wanted false", "new_thing = 3", "--ignore-field"}},
    {"a number that is a word",
     "llama",
     [](Folder& f) { f.config["hidden_size"] = "32"; },
     {"hidden_size is \"32\""}},
    {"a negative number",
     "llama",
     [](Folder& f) { f.config["num_hidden_layers"] = -1; },
     {"num_hidden_layers is -1"}},
    {"too many layers",
     "llama",
     [](Folder& f) { f.config["num_hidden_layers"] = 2000000000; },
     {"n_decoder_layers"}},
    {"more layers than tensors",
     "llama",
     [](Folder& f) { f.config["num_hidden_layers"] = 1000; },
     {"model.layers.2.input_layernorm.weight [32] is missing", "more"}},
    {"heads that do not divide",
     "llama",
     [](Folder& f) { f.config["num_attention_heads"] = 5; },
     {"n_heads = 5 is not a multiple of n_kv_heads = 2"}},
    {"longrope",
     "llama",
     [](Folder& f) {
       f.config["rope_parameters"] = {{"rope_type", "longrope"}, {"factor", 2}, {"rope_theta", 10000}};
     },
     {"rope_type is \"longrope\", wanted default, linear, llama3 or yarn"}},
    {"a part of each head that turns",
     "llama",
     [](Folder& f) {
       f.config["rope_parameters"] = {
           {"rope_type", "default"}, {"rope_theta", 10000}, {"partial_rotary_factor", 0.5}};
     },
     {"partial_rotary_factor is 0.5"}},
    {"no part of a head that turns",
     "gpt-neox",
     [](Folder& f) { f.config["rope_parameters"]["partial_rotary_factor"] = 0.1; },
     {"rope_parameters.partial_rotary_factor is 0.1: no pair of features of a head turns"}},
    {"heads without end",
     "gpt-neox",
     [](Folder& f) {
       f.config["num_attention_heads"] = f.config["hidden_size"] = 65536;
       f.config["num_hidden_layers"] = 1000;
       f.config["rope_parameters"]["partial_rotary_factor"] = 1;
     },
     {"num_attention_heads is 65536 and num_hidden_layers 1000, wanted at most 1000000 heads in all"}},
    {"more than a head that turns",
     "phi",
     [](Folder& f) { f.config["rope_parameters"]["partial_rotary_factor"] = 1e300; },
     {"partial_rotary_factor is 1e+300, wanted a share of each head, up to 1"}},
    {"two opinions on the part that turns",
     "gpt-neox",
     [](Folder& f) { f.config["rotary_pct"] = 0.25; },
     {"rope_parameters", "what rotary_emb_base, rotary_pct and rope_scaling say"}},
    {"longrope of Phi-3",
     "phi3",
     [](Folder& f) {
       f.config["rope_parameters"]["rope_type"] = "yarn";  // the name in old files
     },
     {"rope_parameters.rope_type is \"yarn\", wanted default"}},
    {"norms of queries and keys of Phi",
     "phi",
     [](Folder& f) { f.config["qk_layernorm"] = true; },
     {"qk_layernorm is true, wanted false"}},
    {"a dropout below 0 on the embeddings of Phi",
     "phi",
     [](Folder& f) { f.config["embd_pdrop"] = -1; },
     {"embd_pdrop is -1, wanted at least 0"}},
    {"a dropout below 0 on the embeddings of GPT-2",
     "gpt2",
     [](Folder& f) { f.config["embd_pdrop"] = -1; },
     {"embd_pdrop is -1, wanted at least 0"}},
    {"a dropout below 0 on the embeddings of StarCoder2",
     "starcoder2",
     [](Folder& f) { f.config["embedding_dropout"] = -1; },
     {"embedding_dropout is -1, wanted at least 0"}},
    {"a dropout below 0 on the embeddings of Phi-3",
     "phi3",
     [](Folder& f) { f.config["embd_pdrop"] = -1; },
     {"embd_pdrop is -1, wanted at least 0"}},
    {"an OPT with norms after the sublayers",
     "opt",
     [](Folder& f) {
       f.config["do_layer_norm_before"] = false;
       f.config["word_embed_proj_dim"] = 16;
     },
     {"do_layer_norm_before is false, wanted true", "word_embed_proj_dim is 16, wanted 32"}},
    {"a Gemma that sees the future",
     "gemma",
     [](Folder& f) {
       f.config["use_bidirectional_attention"] = true;
       f.config["hidden_activation"] = "gelu";
     },
     {"use_bidirectional_attention is true", "hidden_activation is \"gelu\", wanted \"gelu_pytorch_tanh\""}},
    {"two opinions on the rotation",
     "llama",
     [](Folder& f) {
       f.config["rope_theta"] = 7;
       f.config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000}};
     },
     {"rope_parameters", "rope_theta"}},
    {"layers of two kinds in a Llama",
     "llama",
     [](Folder& f) {
       f.config["sliding_window"] = 4;
       f.config["layer_types"] = Json::array({"full_attention", "sliding_attention"});
     },
     {"layer_types is [\"full_attention\",\"sliding_attention\"], wanted one type for all layers"}},
    {"more kinds than layers",
     "qwen2",
     [](Folder& f) {
       f.config["layer_types"] = Json::array({"full_attention", "sliding_attention"});
     },
     {"layer_types is [", "wanted full_attention or sliding_attention for each of 1 layers"}},
    {"layers with a window that is not used",
     "qwen2-window",
     [](Folder& f) {
       f.config["use_sliding_window"] = false;
       f.config["layer_types"] = Json::array({"full_attention", "sliding_attention"});
     },
     {"layers are of type sliding_attention, and there is no sliding_window"}},
    {"layers of another kind",
     "gemma3",
     [](Folder& f) { f.config["layer_types"][1] = "chunked_attention"; },
     {"layer_types is [", "for each of 3 layers"}},
    {"a Gemma 3 with the caps of Gemma 2",
     "gemma3",
     [](Folder& f) {
       f.config["attn_logit_softcapping"] = 50.0;
       f.config["final_logit_softcapping"] = 30.0;
     },
     {"attn_logit_softcapping is 50.0, which is not supported",
      "final_logit_softcapping is 30.0, which is not supported"}},
    {"a Gemma 3 without window or factor, and with a scaled base of its own",
     "gemma3",
     [](Folder& f) {
       f.config["sliding_window"] = nullptr;
       f.config["query_pre_attn_scalar"] = 0;
       f.config["rope_parameters"]["sliding_attention"]["rope_type"] = "linear";
       f.config["rope_parameters"]["sliding_attention"]["factor"] = 2.0;
     },
     {"layers are of type sliding_attention, and there is no sliding_window",
      "query_pre_attn_scalar is 0, wanted at least 1",
      "rope_parameters.sliding_attention.rope_type is \"linear\", wanted \"default\"",
      "rope_parameters.sliding_attention.factor = 2.0 is unknown"}},
    {"two opinions on the base of the window",
     "gemma3",
     [](Folder& f) { f.config["rope_local_base_freq"] = 7; },
     {"rope_parameters is", "wanted what rope_theta, rope_local_base_freq and rope_scaling say"}},
    {"quantised",
     "llama",
     [](Folder& f) {
       f.config["quantization_config"] = {{"bits", 4}};
     },
     {"quantization_config"}},
    {"a tensor too few",
     "gpt2",
     [](Folder& f) { f.tensors.erase("transformer.h.1.ln_2.bias"); },
     {"transformer.h.1.ln_2.bias [32] is missing, for decoder/layer_1/feed_forward_norm/beta"}},
    {"a tensor too many",
     "gpt2",
     [](Folder& f) {
       f.tensors.add("score.weight", ones({3, 32}));
     },
     {"score.weight [3, 32] has no place", "--ignore"}},
    {"a tensor of another name",
     "gpt2",
     [](Folder& f) { f.rename("transformer.ln_f.weight", "transformer.ln_g.weight"); },
     {"transformer.ln_f.weight",
      "transformer.ln_g.weight [32] has no place (nearest to transformer.ln_f.weight)"}},
    {"another shape",
     "llama",
     [](Folder& f) {
       f.tensors.erase("model.norm.weight");
       f.tensors.add("model.norm.weight", ones({31}));
     },
     {"model.norm.weight: shape [31], wanted [32]"}},
    {"integers",
     "llama",
     [](Folder& f) {
       f.tensors.erase("model.norm.weight");
       f.tensors.add("model.norm.weight", Tensor::zeros<std::int32_t>({32}));
     },
     {"model.norm.weight: type int32", "quantised"}},
    {"NaN",
     "llama",
     [](Folder& f) { f.tensors.at("model.norm.weight").values<float>()[7] = NAN; },
     {"model.norm.weight: element 7 is nan"}},
    {"names without end",  // all beside all of those missing would take hours
     "gpt2",
     [](Folder& f) {
       f.config["n_layer"] = 200;
       for (int i = 0; i < 3000; ++i)
         f.tensors.add(concat(std::string(180, 'x'), i), Tensor::zeros<float>({0}));
     },
     {"transformer.h.2.ln_1.weight", "more"}},
    {"a long table of positions",
     "marian",
     [](Folder& f) {
       f.config["max_position_embeddings"] = 1000000;
       f.config["d_model"] = 65536;
       f.tensors.add("model.encoder.embed_positions.weight", ones({1, 1}));
     },
     {"model.encoder.embed_positions.weight", "[1, 1]"}},
    {"rows without columns",
     "llama",
     [](Folder& f) {
       f.config["vocab_size"] = 9999999;
       f.tensors.add("empty", Tensor::zeros<float>({9999999, 0}));
     },
     {"vocab_size is 9999999, but no tensor has so many rows"}},
    {"a search that is not understood",
     "marian",
     [](Folder& f) {
       f.files["generation_config.json"] =
           R"({"num_beams": "x", "new_search": 1, "temperature": 0.6, "top_k": 20, "transformers_version": "4"})";
     },
     {"generation_config.json/num_beams is \"x\"", "generation_config.json/new_search = 1 is unknown"}},
    {"a search too wide",
     "marian",
     [](Folder& f) { f.files["generation_config.json"] = R"({"num_beams": 100000})"; },
     {"beam is 100000"}},
    {"a beginning that no piece has",
     "bart",
     [](Folder& f) { f.config["forced_bos_token_id"] = 99; },
     {"forced_bos_token_id is 99, wanted an id below the vocabulary's 99"}},
    {"an mBART whose stacks end without norms",
     "mbart",
     [](Folder& f) {
       f.config["add_final_layer_norm"] = false;
       f.config["normalize_embedding"] = false;
     },
     {"add_final_layer_norm is false", "normalize_embedding is false"}},
    {"positions that begin nowhere",
     "nllb",
     [](Folder& f) { f.config["pad_token_id"] = nullptr; },
     {"pad_token_id is null, wanted an id"}},
    {"a table of positions without its first rows",
     "bart",
     [](Folder& f) { f.config["max_position_embeddings"] = 42; },
     {"model.encoder.embed_positions.weight: shape [42, 20], wanted [44, 20]"}},
    {"heads that keys share by default",
     "mistral",
     [](Folder& f) { f.config["num_key_value_heads"] = nullptr; },
     {"k_proj.weight: shape [16, 32], wanted [32, 32]"}},
    {"pictures prepared otherwise",
     "vit",
     [](Folder& f) {
       f.files["preprocessor_config.json"] =
           R"({"resample": 3, "size": {"height": 224, "width": 224}, "image_mean": ["a"], "do_center_crop": true,
               "rescale_factor": 0.5, "new_step": 1, "image_processor_type": "ViTImageProcessor"})";
     },
     {"preprocessor_config.json/resample is 3", "height and width of the model's image_size = 16",
      "image_mean is [\"a\"]", "do_center_crop is true", "rescale_factor is 0.5", "new_step = 1 is unknown"}},
    {"pictures divided by nothing",
     "vit",
     [](Folder& f) { f.files["preprocessor_config.json"] = R"({"image_std": [0.5, 0, 0.5]})"; },
     {"image_deviation is 0.5,0,0.5, wanted numbers above 0"}},
    {"an activation that the head for words has not",
     "xlm-roberta-masked",
     [](Folder& f) { f.config["hidden_act"] = "relu"; },
     {"hidden_act is \"relu\", wanted \"gelu\""}},
    {"distances in other buckets",
     "mpnet-masked",
     [](Folder& f) {
       f.config["relative_attention_num_buckets"] = 64;
       f.config["pad_token_id"] = 0;
       f.config["type_vocab_size"] = 2;
     },
     {"relative_attention_num_buckets is 64, wanted 32", "pad_token_id is 0, wanted 1",
      "type_vocab_size = 2"}},
    {"layers that neither slide nor see everything",
     "modernbert-masked",
     [](Folder& f) {
       f.config["layer_types"][1] = "chunked_attention";
       f.config["architectures"] = {"ModernBertForQuestionAnswering"};
     },
     {"layer_types is [", "wanted full_attention or sliding_attention for each of 3 layers",
      "architectures is [\"ModernBertForQuestionAnswering\"]"}},
    {"bases of which two settings disagree",
     "modernbert-masked",
     [](Folder& f) {
       f.config["local_rope_theta"] = 7;
       f.config["rope_parameters"]["full_attention"] = {
           {"rope_type", "yarn"}, {"rope_theta", 10000}, {"factor", 2}};
     },
     {"wanted what global_rope_theta, local_rope_theta and rope_scaling say",
      "rope_parameters.full_attention.rope_type is \"yarn\"", "rope_parameters.full_attention.factor = 2"}},
    {"a head with an activation of its own",
     "modernbert-masked",
     [](Folder& f) {
       f.config["classifier_activation"] = "tanh";
       f.config["classifier_pooling"] = "max";
       f.config["global_attn_every_n_layers"] = 0;
     },
     {"classifier_activation is \"tanh\", wanted that of hidden_activation", "classifier_pooling is \"max\"",
      "global_attn_every_n_layers is 0, wanted at least 1"}},
    {"norms that lost their bias",
     "modernbert-mean",
     [](Folder& f) {
       f.tensors.erase("model.final_norm.bias");
       f.tensors.erase("head.norm.bias");
     },
     {"model.final_norm.bias [32] is missing", "head.norm.bias [32] is missing"}},
    {"a class that steers a terminal",
     "bert-classes",
     [](Folder& f) { f.config["id2label"]["0"] = "a\tb"; },
     {"id2label.0 is \"a\\tb\""}},
};

BOOST_AUTO_TEST_SUITE(foreign_models)

BOOST_DATA_TEST_CASE(refuse_what_is_not_understood, boost::unit_test::data::make(kMutations), mutation) {
  const TemporaryFolder temporary;
  Folder folder(mutation.folder);
  folder.write(temporary / "sound");
  BOOST_CHECK_NO_THROW(load_model(temporary / "sound"));
  mutation.change(folder);
  folder.write(temporary / "wrong");
  try {
    load_model(temporary / "wrong");
    BOOST_ERROR("was read");
  } catch (const UsageError& error) {
    BOOST_ERROR("is taken for a wrong command: " << error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    BOOST_CHECK_MESSAGE(message.starts_with(escaped(temporary / "wrong")), message);
    for (const std::string& word : mutation.words)
      BOOST_CHECK_MESSAGE(message.find(word) != std::string::npos, "no \"" << word << "\" in: " << message);
  }
}

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
                           "ministral",
                           "gemma",
                           "gemma3",
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

/// What Sockeye has besides and heed has not, each by its name.
BOOST_AUTO_TEST_CASE(refuse_other_kinds_of_sockeye) {
  const TemporaryFolder temporary;
  std::filesystem::copy(std::string(HEED_TESTDATA) + "/import/sockeye", temporary / "model");
  const std::string config = temporary / "model/config", own = bytes_of(config);
  for (const auto& [said, instead] : std::multimap<std::string, std::string>{
           {"decoder_type: transformer", "decoder_type: lstm"},
           {"decoder_type: transformer", "decoder_type: ssru_transformer"},
           {"num_source_factors: 1", "num_source_factors: 2"},
           {"num_factors: 1", "num_factors: 2"},
           {"use_lhuc: false", "use_lhuc: true"}}) {
    std::string text = own;
    BOOST_REQUIRE(text.find(said) != std::string::npos);
    text.replace(text.rfind(said), said.size(), instead);  // the last: of config_encoder, where both have it
    std::filesystem::remove(config);
    std::ofstream(config) << text;
    const std::string field = instead.substr(0, instead.find(':')),
                      value = instead.substr(instead.find(':') + 2);
    BOOST_CHECK_EXCEPTION(load_model(temporary / "model"), Error, [&](const Error& e) {
      const std::string message = e.what();
      BOOST_TEST_MESSAGE(message);
      return message.find(field + " is ") != std::string::npos && message.find(value) != std::string::npos;
    });
  }
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
