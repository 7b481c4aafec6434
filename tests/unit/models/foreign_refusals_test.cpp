// Folders of transformers' models, each with one thing wrong: it is refused, by a message that says which and why.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "base/error.h"
#include "models/foreign/import.h"
#include "support/foreign_folder.h"
#include "support/temporary_folder.h"

using namespace heed;
using namespace heed::test;
using foreign::Json;

namespace {

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
