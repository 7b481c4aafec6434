// T5 (Raffel et al. 2020) in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/t5. Scores are not divided by the root of the head width, layers have no biases,
// and all layers of a stack share the bias by distance. Logits are scaled by d_model^-0.5 if the output is
// tied to the embeddings. In a gated network wi_0 is the gate.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/model_file.h"
#include "models/transformer.h"
#include "text/foreign_sentencepiece.h"

namespace heed::foreign {
namespace t5 {
namespace {

constexpr const char* kShared = "shared.weight";
/// Every distance has a bucket: only memory limits the length of a sentence.
constexpr std::int64_t kNoLimit = 1'000'000;

std::vector<SameField> same_fields(bool is_mt5) {
  return {{"vocab_size", "source_vocab_size", is_mt5 ? 250112 : 32128},
          {"d_model", "d_model", 512},
          {"d_kv", "d_head", 64},
          {"d_ff", "d_ff", is_mt5 ? 1024 : 2048},
          {"num_layers", "n_encoder_layers", is_mt5 ? 8 : 6},
          {"num_heads", "n_heads", is_mt5 ? 6 : 8},
          {"relative_attention_num_buckets", "relative_buckets", 32},
          {"relative_attention_max_distance", "relative_max_distance", 128},
          {"layer_norm_epsilon", "norm_epsilon", 1e-6},
          {"dropout_rate", "dropout", 0.1}};
}

bool recognises(const Source& source) {
  return source.model_type() == "t5" || source.model_type() == "mt5";
}

TransformerConfig config_of(ConfigFields& fields, bool is_mt5) {
  TransformerConfig config;
  read_same(same_fields(is_mt5), fields, fields_of(config));
  config.target_vocab_size = config.source_vocab_size;
  config.n_decoder_layers = fields.number("num_decoder_layers", config.n_encoder_layers);
  config.max_length = kNoLimit;
  const std::string network = fields.choice("feed_forward_proj", is_mt5 ? "gated-gelu" : "relu",
                                            {{"relu", "relu"},
                                             {"gelu", "gelu"},
                                             {"silu", "silu"},
                                             {"gated-gelu", "gated gelu_tanh"},
                                             {"gated-relu", "gated relu"},
                                             {"gated-silu", "gated silu"}});
  config.gated = network.starts_with("gated ");
  config.activation = network.substr(config.gated ? 6 : 0);
  config.norm = "pre";
  config.norm_kind = "rms";
  config.positions = "relative_buckets";
  config.attention_bias = "none";
  config.feed_forward_bias = false;
  config.score_scale = config.embedding_scale = "1";
  const bool tied = fields.flag("tie_word_embeddings", !is_mt5);
  config.tied = tied ? "all" : "none";
  if (fields.flag("scale_decoder_outputs", tied))
    config.logit_scale = std::pow(static_cast<double>(config.d_model), -0.5);
  fields.expect("is_encoder_decoder", {true});
  fields.expect("is_decoder", {false});
  // The first two follow from feed_forward_proj.
  fields.without_effect(
      "dense_act_fn is_gated_act classifier_dropout n_positions output_past bos_token_id "
      "tie_encoder_decoder");
  return config;
}

Mappings mappings_of(const TransformerConfig& config) {
  Mappings map;
  const std::int64_t d = config.d_model, vocabulary = config.source_vocab_size,
                     width = config.n_heads * config.d_head;
  if (config.tied == "all") {
    map.same(kShared, {vocabulary, d}, "embedding/weight");
    map.copy(kWordScores, kShared);
  } else {
    for (const char* part : {"encoder", "decoder"})
      map.same(kShared, {vocabulary, d}, concat(part, "/embedding/weight"));
    map.transposed(kWordScores, {vocabulary, d}, "decoder/output/weight");
  }
  const auto attention = [&](const std::string& theirs, const std::string& ours) {
    for (const auto& [name, part] : {std::pair(".q", "query"), {".k", "key"}, {".v", "value"}})
      map.linear(theirs + name, concat(ours, '/', part), d, width, false);
    map.linear(theirs + ".o", ours + "/output", width, d, false);
  };
  const auto stack = [&](const std::string& name, std::int64_t n_layers) {
    map.copy(name + ".embed_tokens.weight", kShared);
    map.same(name + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
             {config.relative_buckets, config.n_heads}, name + "/relative_bias/weight");
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string block = concat(name, ".block.", i, ".layer."), ours = concat(name, "/layer_", i, '/');
      int sublayer = 0;
      const auto next = [&](const std::string& norm) {
        const std::string theirs = concat(block, sublayer++, '.');
        map.norm(theirs + "layer_norm", ours + norm, d, false);
        return theirs;
      };
      attention(next("self_attention_norm") + "SelfAttention", ours + "self_attention");
      if (name == "decoder")
        attention(next("cross_attention_norm") + "EncDecAttention", ours + "cross_attention");
      const std::string network = next("feed_forward_norm") + "DenseReluDense.";
      if (config.gated) map.linear(network + "wi_0", ours + "feed_forward/gate", d, config.d_ff, false);
      map.linear(network + (config.gated ? "wi_1" : "wi"), ours + "feed_forward/inner", d, config.d_ff,
                 false);
      map.linear(network + "wo", ours + "feed_forward/outer", config.d_ff, d, false);
    }
    map.norm(name + ".final_layer_norm", name + "/final_norm", d, false);
  };
  stack("encoder", config.n_encoder_layers);
  stack("decoder", config.n_decoder_layers);
  map.ignore("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", "never used");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  const bool is_mt5 = source.model_type() == "mt5";
  TransformerConfig config = config_of(fields, is_mt5);
  ForeignModel found;
  found.kind = is_mt5 ? "mT5" : "T5";
  SpecialIds special = kNoSpecialIds;
  special.eos = fields.id("eos_token_id", 1);
  special.pad = fields.id("pad_token_id", 0);
  special.bos = fields.id("decoder_start_token_id", special.pad);
  found.search = generation_of(source, fields, special, config.target_vocab_size, found.notes);
  fields.finish();
  if (config.tied == "all" && !source.tied(kWordScores, kShared)) {
    config.tied = "none";
    found.notes.push_back(concat(kWordScores, " differs from ", kShared, ": they are not tied"));
  }
  check_config(config);
  found.config_json = to_json(config);
  found.mappings = mappings_of(config);
  found.source = found.target = tokenizer_of(source, config.source_vocab_size, special, found.notes);
  found.formulas = {{"positions", config.positions},
                    {"activation", config.activation},
                    {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != TransformerConfig::kArchitecture) return std::nullopt;
  TransformerConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const SpecialIds& special = loaded.target.special();
  const double scale = std::pow(static_cast<double>(config.d_model), -0.5);
  // The embedding scale is multiplied into the table, which also computes the output scores, so these are
  // divided by it.
  const bool scales_embeddings = config.tied == "all" && config.embedding_scale == "sqrt_d";
  Requirements require(config, reasons);
  require.keep(same_fields(false));
  require.keep("target_vocab_size n_decoder_layers max_length gated embedding_scale");
  require.want(
      "positions=relative_buckets norm=pre norm_kind=rms final_norm=by_norm|yes "
      "attention_bias=none feed_forward_bias=false score_scale=1 tied=all|none");
  if (!scales_embeddings) require.want("embedding_scale=1");
  require.want("logit_scale", scales_embeddings ? std::vector<Json>{1.0} : std::vector<Json>{1.0, scale});
  require.want_own_keys();
  require.want("decoder_d_ff", {0, config.d_ff});
  const std::string network =
      config.gated
          ? require.word("activation",
                         {{"relu", "gated-relu"}, {"gelu_tanh", "gated-gelu"}, {"silu", "gated-silu"}})
          : require.word("activation", {{"relu", "relu"}, {"gelu", "gelu"}, {"silu", "silu"}});
  if (config.tied == "none" &&
      !are_equal(loaded.model->parameters, "encoder/embedding/weight", "decoder/embedding/weight"))
    reasons.push_back("the sides have tables of their own, wanted one");
  if (special.bos == SpecialIds::kAbsent)
    reasons.push_back("the vocabulary has no bos, from which a decoder starts");
  if (!require.are_met()) return std::nullopt;

  if (config.d_head == 0) config.d_head = config.d_model / config.n_heads;
  Exported out;
  out.mappings = mappings_of(config);
  if (scales_embeddings) out.factors[kShared] = std::sqrt(static_cast<float>(config.d_model));
  out.config = {{"architectures", {"T5ForConditionalGeneration"}},
                {"model_type", "t5"},
                {"num_decoder_layers", config.n_decoder_layers},
                {"feed_forward_proj", network},
                {"tie_word_embeddings", config.tied == "all"},
                {"scale_decoder_outputs", scales_embeddings || config.logit_scale != 1},
                {"is_encoder_decoder", true},
                {"decoder_start_token_id", special.bos}};
  state_same(same_fields(false), fields_of(config), out.config);
  state_decoder_ids(special, out.config);
  out.config["bos_token_id"] = nullptr;
  out.files.emplace_back(
      "generation_config.json",
      generation_json(search_settings_of(loaded.origin).value_or(SearchSettings{}), special));
  const std::string pieces = sentencepiece_of(loaded.target);
  out.has_tokenizer =
      loaded.target.type() == text::kSentencePieceType && loaded.source.digest() == loaded.target.digest();
  if (!out.has_tokenizer) return out;
  std::int64_t n_sentinels = 0;
  while (loaded.target.vocabulary().contains(concat("<extra_id_", n_sentinels, '>'))) ++n_sentinels;
  const Json tokenizer{{"tokenizer_class", "T5Tokenizer"}, {"extra_ids", n_sentinels}};
  out.files.emplace_back("spiece.model", pieces);
  out.files.emplace_back("tokenizer_config.json", tokenizer.dump(2) + "\n");
  return out;
}

}  // namespace
}  // namespace t5

const Family kT5{"t5", t5::recognises, t5::describe, t5::express};

}  // namespace heed::foreign
