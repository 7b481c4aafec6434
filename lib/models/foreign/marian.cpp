// Marian's models (Junczys-Dowmunt et al. 2018), OPUS-MT among them, as transformers has them:
// https://github.com/huggingface/transformers, src/transformers/models/marian. The formulas are those of transformers, not of
// Marian itself (marian_npz.cpp): sinusoids of frequency 10000^(-2k/d), an epsilon of 1e-5, "gelu" by the error function.
// A layer's final_layer_norm is the norm of its feed-forward network.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/transformer.h"

namespace heed::foreign {
namespace {

constexpr const char* kShared = "model.shared.weight";
constexpr const char* kSource = "model.encoder.embed_tokens.weight";
constexpr const char* kTarget = "model.decoder.embed_tokens.weight";
constexpr const char* kOutput = "lm_head.weight";

bool recognises(const Source& source) {
  return source.model_type() == "marian";
}

TransformerConfig config_of(ConfigFields& fields) {
  TransformerConfig config;
  config.source_vocab_size = fields.number("vocab_size", 58101);
  config.target_vocab_size = fields.number("decoder_vocab_size", config.source_vocab_size);
  config.d_model = fields.number("d_model", 1024);
  config.n_encoder_layers = fields.number("encoder_layers", 12);
  config.n_decoder_layers = fields.number("decoder_layers", 12);
  config.n_heads = fields.number("encoder_attention_heads", 16);
  fields.expect("decoder_attention_heads", {config.n_heads});
  if (!fields.has("decoder_attention_heads") && config.n_heads != 16)
    fields.refuse("decoder_attention_heads", "it");
  config.d_ff = fields.number("encoder_ffn_dim", 4096);
  config.decoder_d_ff = fields.number("decoder_ffn_dim", 4096);
  if (config.decoder_d_ff == config.d_ff) config.decoder_d_ff = 0;
  config.max_length = fields.number("max_position_embeddings", 1024);
  config.activation = fields.choice("activation_function", "gelu",
                                    {{"gelu", "gelu"},
                                     {"swish", "silu"},
                                     {"silu", "silu"},
                                     {"relu", "relu"},
                                     {"gelu_new", "gelu_tanh"},
                                     {"quick_gelu", "gelu_sigmoid"}});
  config.embedding_scale = fields.flag("scale_embedding", false) ? "sqrt_d" : "1";
  config.positions = "sinusoidal_halves";
  config.norm_epsilon = 1e-5;
  config.output_bias = true;
  config.dropout = fields.real("dropout", 0.1);
  config.attention_dropout = fields.real("attention_dropout", 0);
  config.activation_dropout = fields.real("activation_dropout", 0);
  // Of its forerunners: what is not so was never converted.
  fields.expect("static_position_embeddings", {true});
  for (const char* name :
       {"normalize_before", "add_final_layer_norm", "normalize_embedding", "add_bias_logits"})
    fields.expect(name, {false});
  fields.expect("is_encoder_decoder", {true});
  fields.expect("is_decoder", {false});
  fields.without_effect({"encoder_layerdrop", "decoder_layerdrop", "init_std", "classifier_dropout",
                         "classif_dropout", "num_hidden_layers", "extra_pos_embeddings", "bos_token_id",
                         "save_step", "_num_labels"});
  return config;
}

/// Which tables are one, by the settings and by what the file has.
void choose_ties(const Source& source, ConfigFields& fields, TransformerConfig& config, bool& shared,
                 std::vector<std::string>& notes) {
  shared = fields.flag("share_encoder_decoder_embeddings", true);
  const bool output_tied = fields.flag("tie_word_embeddings", true);
  const char* table = shared ? kShared : kTarget;
  if (output_tied && !source.tied(kOutput, table)) {
    notes.push_back(concat(kOutput, " differs from ", table, ": they are not tied"));
    config.tied = "none";
  } else {
    config.tied = !output_tied ? "none" : shared ? "all" : "decoder";
  }
}

/// Old files have the positions too: they must be the formula's.
void check_positions(const Source& source, const TransformerConfig& config) {
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}) {
    const auto index = source.find(name);
    if (!index) continue;
    const Tensor stored = source.weights().read(*index);
    const auto wanted =
        sinusoidal_positions<float>(config.max_length, config.d_model, Positions::sinusoidal_halves);
    expect_shape(concat(escaped(source.path()), ":/", name), stored.shape(),
                 {config.max_length, config.d_model});
    if (stored.dtype() != DType::f32) fail(escaped(source.path()), ":/", name, ": wanted float32");
    const auto values = stored.values<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!(std::abs(values[i] - wanted[i]) <= 1e-3))  // F16 files have rounded ones
        fail(escaped(source.path()), ":/", name, ": element ", i, " is ", values[i], ", the sinusoids have ",
             wanted[i], ": other positions are not supported");
  }
}

Mappings mappings_of(const TransformerConfig& config, bool shared) {
  Mappings map;
  const std::int64_t d = config.d_model, n_source = config.source_vocab_size,
                     n_target = config.target_vocab_size;
  if (config.tied == "all") {
    map.same(kShared, {n_source, d}, "embedding/weight");
  } else {
    map.same(shared ? kShared : kSource, {n_source, d}, "encoder/embedding/weight");
    map.same(shared ? kShared : kTarget, {n_target, d}, "decoder/embedding/weight");
  }
  if (shared) {
    map.copy(kSource, kShared);
    map.copy(kTarget, kShared);
  }
  if (config.tied == "none")
    map.transposed(kOutput, {n_target, d}, "decoder/output/weight");
  else
    map.copy(kOutput, shared ? kShared : kTarget);
  map.same("final_logits_bias", {1, n_target}, "decoder/output/bias");
  const auto attention = [&](const std::string& theirs, const std::string& ours) {
    for (const auto& [name, part] :
         {std::pair("q_proj", "query"), {"k_proj", "key"}, {"v_proj", "value"}, {"out_proj", "output"}})
      map.linear(concat(theirs, '.', name), concat(ours, '/', part), d, d);
    map.norm(theirs + "_layer_norm", ours + "_norm", d);
  };
  const auto stack = [&](const std::string& name, std::int64_t n_layers, std::int64_t d_ff) {
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string theirs = concat("model.", name, ".layers.", i, '.'),
                        ours = concat(name, "/layer_", i, '/');
      attention(theirs + "self_attn", ours + "self_attention");
      if (name == "decoder") attention(theirs + "encoder_attn", ours + "cross_attention");
      map.linear(theirs + "fc1", ours + "feed_forward/inner", d, d_ff);
      map.linear(theirs + "fc2", ours + "feed_forward/outer", d_ff, d);
      map.norm(theirs + "final_layer_norm", ours + "feed_forward_norm", d);
    }
  };
  stack("encoder", config.n_encoder_layers, config.d_ff);
  stack("decoder", config.n_decoder_layers, config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff);
  map.ignore("model.*coder.embed_positions.weight", "the formula's positions");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  TransformerConfig config = config_of(fields);
  ForeignModel found;
  found.kind = "Marian (transformers)";
  SpecialIds special = kNoSpecialIds;
  special.eos = fields.id("eos_token_id", 0);
  special.pad = fields.id("pad_token_id", 58100);
  special.bos = fields.id("decoder_start_token_id", 58100);
  found.search = generation_of(source, fields, special, found.notes);
  bool shared = true;
  choose_ties(source, fields, config, shared, found.notes);
  fields.finish();
  check_config(config);
  check_positions(source, config);
  SpecialIds of_source = special;
  if (!shared) of_source.pad = of_source.bos = SpecialIds::kAbsent;  // ids of the other vocabulary
  found.config_json = to_json(config);
  found.mappings = mappings_of(config, shared);
  found.source = tokenizer_of(source, config.source_vocab_size, of_source, found.notes, "source");
  found.target = tokenizer_of(source, config.target_vocab_size, special, found.notes, "target");
  found.formulas = {
      {"positions", config.positions}, {"activation", config.activation}, {"norm_epsilon", "1e-5"}};
  return found;
}

}  // namespace

const Family kMarian{"marian", recognises, describe};

}  // namespace heed::foreign
