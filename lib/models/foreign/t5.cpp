// T5 (Raffel et al. 2020) as transformers has it: https://github.com/huggingface/transformers, src/transformers/models/t5.
// Scores are not divided by the root of the heads' width, layers have no biases, and the bias by distance is one for all layers of
// a stack. Logits are scaled by d_model^-0.5 when the output matrix is the table of embeddings. Of a gated network wi_0 is the
// gate.
#include <cmath>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/transformer.h"

namespace heed::foreign {
namespace {

constexpr const char* kShared = "shared.weight";
constexpr const char* kOutput = "lm_head.weight";
/// Any distance has a bucket: what limits a sentence is memory.
constexpr std::int64_t kNoLimit = 1'000'000;

bool recognises(const Source& source) {
  return source.model_type() == "t5" || source.model_type() == "mt5";
}

TransformerConfig config_of(ConfigFields& fields, bool is_mt5) {
  TransformerConfig config;
  config.source_vocab_size = config.target_vocab_size = fields.number("vocab_size", is_mt5 ? 250112 : 32128);
  config.d_model = fields.number("d_model", 512);
  config.d_head = fields.number("d_kv", 64);
  config.d_ff = fields.number("d_ff", is_mt5 ? 1024 : 2048);
  config.n_encoder_layers = fields.number("num_layers", is_mt5 ? 8 : 6);
  config.n_decoder_layers = fields.number("num_decoder_layers", config.n_encoder_layers);
  config.n_heads = fields.number("num_heads", is_mt5 ? 6 : 8);
  config.relative_buckets = fields.number("relative_attention_num_buckets", 32);
  config.relative_max_distance = fields.number("relative_attention_max_distance", 128);
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
  config.norm_epsilon = fields.real("layer_norm_epsilon", 1e-6);
  config.positions = "relative_buckets";
  config.attention_bias = "none";
  config.feed_forward_bias = false;
  config.score_scale = config.embedding_scale = "1";
  config.dropout = fields.real("dropout_rate", 0.1);
  const bool tied = fields.flag("tie_word_embeddings", !is_mt5);
  config.tied = tied ? "all" : "none";
  if (fields.flag("scale_decoder_outputs", tied))
    config.logit_scale = std::pow(static_cast<double>(config.d_model), -0.5);
  fields.expect("is_encoder_decoder", {true});
  fields.expect("is_decoder", {false});
  // The first two follow from feed_forward_proj.
  fields.without_effect({"dense_act_fn", "is_gated_act", "classifier_dropout", "n_positions", "output_past",
                         "bos_token_id", "tie_encoder_decoder"});
  return config;
}

Mappings mappings_of(const TransformerConfig& config) {
  Mappings map;
  const std::int64_t d = config.d_model, vocabulary = config.source_vocab_size,
                     width = config.n_heads * config.d_head;
  if (config.tied == "all") {
    map.same(kShared, {vocabulary, d}, "embedding/weight");
    map.copy(kOutput, kShared);
  } else {
    for (const char* part : {"encoder", "decoder"})
      map.same(kShared, {vocabulary, d}, concat(part, "/embedding/weight"));
    map.transposed(kOutput, {vocabulary, d}, "decoder/output/weight");
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
  found.search = generation_of(source, fields, special, found.notes);
  fields.finish();
  if (config.tied == "all" && !source.tied(kOutput, kShared)) {
    config.tied = "none";
    found.notes.push_back("lm_head.weight differs from shared.weight: they are not tied");
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

}  // namespace

const Family kT5{"t5", recognises, describe};

}  // namespace heed::foreign
