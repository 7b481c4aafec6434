// ModernBERT (Warner et al. 2024) in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/modernbert. An encoder with norms before the sublayers, but for the first, which
// reads the normalised embeddings as they are; rotary positions; a gated feed-forward network; and a sliding
// window to both sides in most layers, with a base of rotary positions of its own. All heads begin with the
// same layer, LayerNorm(f(x W + b)): here that of masked words, or the pooler.
#include "base/log.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/encoder_heads.h"
#include "models/foreign/families.h"
#include "models/foreign/layer_types.h"
#include "models/foreign/rotary.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace modernbert {
namespace {

constexpr const char* kModelType = "modernbert";
constexpr const char* kClassName = "ModernBert";
constexpr const char* kBody = "model.";

const std::vector<SameField> kSame{{"vocab_size", "source_vocab_size", 50368},
                                   {"hidden_size", "d_model", 768},
                                   {"num_hidden_layers", "n_encoder_layers", 22},
                                   {"num_attention_heads", "n_heads", 12},
                                   {"intermediate_size", "d_ff", 1152},
                                   {"max_position_embeddings", "max_length", 8192},
                                   {"norm_eps", "norm_epsilon", 1e-5},
                                   {"attention_dropout", "attention_dropout", 0},
                                   {"mlp_dropout", "activation_dropout", 0},
                                   {"classifier_dropout", "classifier_dropout", 0},
                                   {"mlp_bias", "feed_forward_bias", false},
                                   {"classifier_bias", "head_bias", false}};

constexpr const char *kPeriod = "global_attn_every_n_layers", *kWindow = "local_attention";
constexpr std::int64_t kUsualPeriod = 3;    // one layer of so many sees everything
constexpr std::int64_t kUsualWindow = 128;  // keys on both sides together
constexpr RotarySettingsOf kRotary{"global_rope_theta", nullptr, 1, false, 160'000, "local_rope_theta"};

/// The activations of the heads.
constexpr std::initializer_list<std::pair<const char*, const char*>> kHeadActivations{
    {"gelu", "gelu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"tanh", "tanh"}};

bool recognises(const Source& source) {
  return source.model_type() == kModelType;
}

EncoderHeads heads_of(const Source& source, ConfigFields& fields) {
  EncoderHeads heads;
  heads.of_sentences = !source.file("modules.json").empty();
  if (heads.of_sentences) return heads;
  heads.of_tokens = fields.get("architectures") == Json::array({token_classifier(kClassName)});
  heads.classes = heads.pooler = heads.of_tokens || source.has("classifier.weight");
  heads.words = !heads.classes && source.has("head.dense.weight");
  return heads;
}

/// transformers 4 says after how many layers one sees everything, version 5 lists the layers.
void read_attention(ConfigFields& fields, EncoderOnlyConfig& config) {
  config.attention_bias = fields.flag("attention_bias", false) ? "all" : "none";
  const std::int64_t period = fields.number(kPeriod, kUsualPeriod);
  if (period == 0) fields.refuse(kPeriod, "at least 1");
  const auto usual = [period](std::int64_t layer) { return period > 0 && layer % period > 0; };
  // The keys at this distance to either side are seen.
  const std::int64_t farthest = fields.number(kWindow, kUsualWindow) / 2;
  read_layer_types(fields, farthest + 1, usual, config.n_encoder_layers, config);
  read_rotary(kRotary, fields, config);
}

EncoderOnlyConfig config_of(ConfigFields& fields, const EncoderHeads& heads) {
  EncoderOnlyConfig config;
  config.dropout = 0;
  read_same(kSame, fields, fields_of(config));
  const double embedding_dropout = fields.real("embedding_dropout", 0);
  config.embedding_dropout = embedding_dropout == config.dropout ? -1 : embedding_dropout;
  config.activation = fields.choice("hidden_activation", "gelu", kActivations);
  config.gated = true;
  config.norm = "pre";
  config.norm_kind = fields.flag("norm_bias", false) ? "layer" : "layer_no_bias";
  config.first_norm = false;
  read_attention(fields, config);
  config.pooler = heads.pooler;
  config.pooler_norm = true;
  config.pooler_activation = fields.choice("classifier_activation", "gelu", kHeadActivations);
  const std::string pooling =
      fields.choice("classifier_pooling", "cls", {{"cls", "first"}, {"mean", "mean"}});
  read_heads(fields, heads, kClassName, config);
  if (!heads.of_tokens) config.pooling = pooling;
  config.output_bias = fields.flag("decoder_bias", true) && heads.words;
  if (heads.words && config.pooler_activation != config.activation)
    fields.refuse("classifier_activation", "that of hidden_activation");
  fields.without_effect(
      "bos_token_id eos_token_id cls_token_id sep_token_id initializer_cutoff_factor layer_norm_eps "
      "position_embedding_type deterministic_flash_attn reference_compile repad_logits_with_grad "
      "sparse_prediction sparse_pred_ignore_index");
  return config;
}

/// `root`: the prefix of all but the heads.
Mappings mappings_of(const EncoderOnlyConfig& config, const EncoderHeads& heads, const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  const std::string table = root + "embeddings.tok_embeddings.weight";
  const std::int64_t d = config.d_model, d_ff = config.d_ff;
  const bool beta = config.norm_kind == "layer", attention_bias = config.attention_bias == "all";
  map.same(table, {config.source_vocab_size, d}, "encoder/embedding/weight");
  map.norm(root + "embeddings.norm", "encoder/embedding_norm", d, beta);
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string theirs = concat(root, "layers.", i, '.'), ours = concat("encoder/layer_", i, '/');
    const std::string attention = ours + "self_attention/", network = ours + "feed_forward/";
    if (i > 0) map.norm(theirs + "attn_norm", ours + "self_attention_norm", d, beta);
    map.stacked(theirs + "attn.Wqkv", d, attention, {{"query", d}, {"key", d}, {"value", d}}, attention_bias);
    map.linear(theirs + "attn.Wo", attention + "output", d, d, attention_bias);
    map.norm(theirs + "mlp_norm", ours + "feed_forward_norm", d, beta);
    map.stacked(theirs + "mlp.Wi", d, network, {{"gate", d_ff}, {"inner", d_ff}}, config.feed_forward_bias);
    map.linear(theirs + "mlp.Wo", network + "outer", d_ff, d, config.feed_forward_bias);
  }
  map.norm(root + "final_norm", "encoder/final_norm", d, beta);
  if (heads.words || heads.classes) {
    map.linear("head.dense", heads.words ? "masked_word/inner" : "encoder/pooler", d, d, config.head_bias);
    map.norm("head.norm", heads.words ? "masked_word/norm" : "encoder/pooler_norm", d, beta);
  }
  if (heads.classes) map.linear("classifier", "classes", d, config.n_classes);
  if (heads.words) {
    if (config.output_bias) map.same("decoder.bias", {config.source_vocab_size}, "masked_word/bias");
    map.copy("decoder.weight", table);
  }
  map_dense(config, heads, map);
  if (heads.of_sentences) {
    map.ignore("head.*", "vectors of sentences do not need it");
    map.ignore("decoder.*", "vectors of sentences do not need it");
  }
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  const EncoderHeads heads = heads_of(source, fields);
  SpecialIds special = kNoSpecialIds;
  special.pad = fields.id("pad_token_id", 50283);
  const EncoderOnlyConfig config = config_of(fields, heads);
  ForeignModel found = finish_encoder(
      source, fields, config, heads, special,
      [](const EncoderOnlyConfig& whole, const EncoderHeads& all) { return mappings_of(whole, all, kBody); });
  found.kind = "ModernBERT";
  found.formulas.emplace_back("positions", rotary_formula(config));
  return found;
}

/// The settings of read_attention, in the older form if it can say them.
void state_attention(const EncoderOnlyConfig& config, Json& out) {
  out["attention_bias"] = config.attention_bias == "all";
  state_rotary(kRotary, config, out);
  const bool slides = config.sliding_window > 0;
  if (slides) out[kWindow] = 2 * (config.sliding_window - 1);
  const std::string letters = slides ? config.window_layers : "f";
  if (letters.rfind('f') == 0)
    out[kPeriod] = letters.size();
  else
    state_layer_types(config, config.n_encoder_layers, out);
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  if (config.positions != "rotary") return std::nullopt;  // BERT and its relatives
  const EncoderHeads heads = EncoderHeads::of(config);
  Requirements require(config, reasons);
  require.keep(kSame);
  require.keep("sliding_window window_layers output_bias");
  want_rotary(kRotary, config, require);
  require.want(
      "norm=pre norm_kind=layer|layer_no_bias first_norm=false final_norm=by_norm|yes gated=true "
      "attention_bias=none|all");
  require.want_usual_heads();
  require.want_own_keys();
  want_heads(require, heads);
  if (heads.classes)
    require.want(heads.of_tokens ? "pooler=true pooler_norm=true"
                                 : "pooler=true pooler_norm=true pooling=first|mean");
  else
    require.keep("pooler_norm");  // of a classifier that it may become
  const std::string activation = require.word("activation", kExportedActivations),
                    of_head =
                        require.word(heads.words ? "activation" : "pooler_activation", kHeadActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, heads, heads.of_sentences ? "" : kBody);
  out.config = {
      {"architectures", {heads.class_of(kClassName)}},
      {"model_type", kModelType},
      {"hidden_activation", activation},
      {"classifier_activation", of_head},
      {"classifier_pooling", config.pooling == "mean" ? "mean" : "cls"},
      {"norm_bias", config.norm_kind == "layer"},
      {"decoder_bias", config.output_bias},
      {"embedding_dropout", config.embedding_dropout < 0 ? config.dropout : config.embedding_dropout}};
  state_same(kSame, fields_of(config), out.config);
  out.config["classifier_dropout"] = config.head_dropout();
  state_attention(config, out.config);
  if (config.dropout > 0)
    logging::note("dropout is not exported: ModernBERT's sublayers have none on their output");
  finish_encoder(loaded, config, heads, false, out);
  // What begins and ends a text has two names there.
  const auto state = [&](std::int32_t id, const char* name, const char* other) {
    out.config[name] = out.config[other] = id == SpecialIds::kAbsent ? Json() : Json(id);
  };
  state(loaded.source.special().cls, "cls_token_id", "bos_token_id");
  state(loaded.source.special().sep, "sep_token_id", "eos_token_id");
  return out;
}

}  // namespace
}  // namespace modernbert

const Family kModernBert{"modernbert", modernbert::recognises, modernbert::describe, modernbert::express};

}  // namespace heed::foreign
