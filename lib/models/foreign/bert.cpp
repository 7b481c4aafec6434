// BERT (Devlin et al. 2019) and relatives with its layers: RoBERTa (Liu et al. 2019) and the same by other
// names, XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020); MPNet (Song et al. 2020),
// without token types and with biases of distances in the scores; ELECTRA (Clark et al. 2020), with factorised
// embeddings. In transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/{bert,roberta,xlm_roberta,camembert,mpnet,electra}; alone, with a head for masked
// words, or with one that classifies sentences or tokens; or in a folder of sentence-transformers (MiniLM,
// multilingual-e5, all-mpnet).
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/encoder_heads.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace bert {
namespace {

/// The names of the parts of a layer's attention: linear layers and norm.
struct AttentionNames {
  const char *query, *key, *value, *output, *norm;
};
constexpr AttentionNames kBertAttention{"self.query", "self.key", "self.value", "output.dense",
                                        "output.LayerNorm"};
constexpr AttentionNames kMpnetAttention{"attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm"};

/// The names of the parts of a head for masked words; ELECTRA has no copy of the bias.
struct WordNames {
  const char *inner, *norm, *bias, *weight, *bias_copy;
};
constexpr WordNames kBertWords{"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                               "cls.predictions.bias", "cls.predictions.decoder.weight",
                               "cls.predictions.decoder.bias"};
constexpr WordNames kRobertaWords{"lm_head.dense", "lm_head.layer_norm", "lm_head.bias",
                                  "lm_head.decoder.weight", "lm_head.decoder.bias"};
constexpr WordNames kElectraWords{"generator_predictions.dense", "generator_predictions.LayerNorm",
                                  "generator_lm_head.bias", "generator_lm_head.weight", nullptr};

enum class Like { bert, roberta, mpnet, electra };

/// The differences between them.
struct Kind {
  const char* model_type;
  const char* name;
  const char* class_name;  ///< as transformers' classes begin
  const char* prefix;      ///< of all but the heads
  Like like;
  std::int32_t pad, bos, eos;
  std::int64_t vocab_size, d_model = 768, n_heads = 12, d_ff = 3072;  ///< if config.json does not say

  bool is_mpnet() const { return like == Like::mpnet; }
  bool is_electra() const { return like == Like::electra; }
  /// The positions of tokens are numbered from pad + 1.
  bool has_offset() const { return like == Like::roberta || is_mpnet(); }
  /// Classifiers of sentences have a layer of their own in place of the pooler. The head for masked words has
  /// GELU, whatever the layers have.
  bool has_own_heads() const { return like != Like::bert; }
  const char* positions() const { return is_mpnet() ? "learned_buckets" : "learned"; }
  const char* pooler_activation() const { return is_electra() ? "gelu" : "tanh"; }
  const AttentionNames& attention() const { return is_mpnet() ? kMpnetAttention : kBertAttention; }
  const WordNames& words() const {
    return like == Like::bert ? kBertWords : is_electra() ? kElectraWords : kRobertaWords;
  }
};

constexpr Kind kKinds[] = {
    {"bert", "BERT", "Bert", "bert.", Like::bert, 0, -1, -1, 30522},
    {"roberta", "RoBERTa", "Roberta", "roberta.", Like::roberta, 1, 0, 2, 50265},
    {"xlm-roberta", "XLM-RoBERTa", "XLMRoberta", "roberta.", Like::roberta, 1, 0, 2, 30522},
    {"camembert", "CamemBERT", "Camembert", "roberta.", Like::roberta, 1, 0, 2, 30522},
    {"mpnet", "MPNet", "MPNet", "mpnet.", Like::mpnet, 1, 0, 2, 30527},
    {"electra", "ELECTRA", "Electra", "electra.", Like::electra, 0, -1, -1, 30522, 256, 4, 1024}};

/// Constants of MPNet's code.
constexpr std::int64_t kMpnetBuckets = 32, kMpnetFarthest = 128;
constexpr std::int32_t kMpnetPad = 1;

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

/// The kind that a model is exported as: the one it was imported from, unless only another has its layers.
const Kind& kind_to_export(const LoadedModel& loaded, const EncoderOnlyConfig& config) {
  const Like like = config.positions == "learned_buckets"                              ? Like::mpnet
                    : config.position_offset > 0                                       ? Like::roberta
                    : config.embedding_width > 0 || config.pooler_activation == "gelu" ? Like::electra
                                                                                       : Like::bert;
  const auto from = std::ranges::find(kKinds, origin_kind(loaded), &Kind::name);
  return from != std::end(kKinds) && from->like == like ? *from
                                                        : *std::ranges::find(kKinds, like, &Kind::like);
}

std::vector<SameField> same_fields(const Kind& kind) {
  std::vector<SameField> same{{"vocab_size", "source_vocab_size", kind.vocab_size},
                              {"hidden_size", "d_model", kind.d_model},
                              {"num_hidden_layers", "n_encoder_layers", 12},
                              {"num_attention_heads", "n_heads", kind.n_heads},
                              {"intermediate_size", "d_ff", kind.d_ff},
                              {"hidden_dropout_prob", "dropout", 0.1},
                              {"attention_probs_dropout_prob", "attention_dropout", 0.1},
                              {"layer_norm_eps", "norm_epsilon", 1e-12}};
  if (kind.is_mpnet())
    same.push_back({"relative_attention_num_buckets", "relative_buckets", kMpnetBuckets});
  else
    same.push_back({"type_vocab_size", "n_token_types", 2});
  return same;
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
}

EncoderHeads heads_of(const Source& source, ConfigFields& fields, const Kind& kind) {
  EncoderHeads heads;
  heads.of_sentences = !source.file("modules.json").empty();
  heads.of_tokens =
      !heads.of_sentences && fields.get("architectures") == Json::array({token_classifier(kind.class_name)});
  heads.classes = heads.of_tokens ||
                  (!heads.of_sentences &&
                   source.has(kind.has_own_heads() ? "classifier.out_proj.weight" : "classifier.weight"));
  heads.words = !heads.of_sentences && !heads.classes && source.has(kind.words().bias);
  const std::string pooler = "pooler.dense.weight";
  heads.pooler = source.has(kind.prefix + pooler) || source.has(pooler);
  return heads;
}

EncoderOnlyConfig config_of(ConfigFields& fields, const Kind& kind, const EncoderHeads& heads,
                            std::int32_t pad) {
  EncoderOnlyConfig config;
  read_same(same_fields(kind), fields, fields_of(config));
  config.activation = fields.choice("hidden_act", "gelu", kActivations);
  if (heads.words && kind.has_own_heads()) fields.expect("hidden_act", {"gelu"});
  config.positions = kind.positions();
  config.position_offset = kind.has_offset() ? std::int64_t{pad} + 1 : 0;
  config.max_length = fields.number("max_position_embeddings", 512) - config.position_offset;
  if (config.max_length < 1)
    fields.refuse("max_position_embeddings", concat("more than ", config.position_offset));
  config.pooler = (heads.pooler || heads.classes) && !heads.of_tokens;
  config.pooler_activation = kind.pooler_activation();
  config.pooler_dropout = kind.has_own_heads();
  read_heads(fields, heads, kind.class_name, config);
  config.classifier_dropout = -1;
  if (kind.is_mpnet()) {
    config.relative_max_distance = kMpnetFarthest;
    fields.expect("relative_attention_num_buckets", {kMpnetBuckets});  // its code has it as a constant
    fields.expect("pad_token_id", {kMpnetPad});                        // and this, for positions
    return config;
  }
  config.classifier_dropout = fields.real("classifier_dropout", -1);
  if (kind.is_electra()) {
    const std::int64_t width = fields.number("embedding_size", 128);
    if (width == 0) fields.refuse("embedding_size", "at least 1");
    config.embedding_width = width == config.d_model ? 0 : width;
    fields.without_effect("summary_type summary_use_proj summary_activation summary_last_dropout");
  }
  fields.expect("position_embedding_type", {"absolute"});
  fields.expect("add_cross_attention", {false});
  fields.without_effect(
      "tie_encoder_decoder cross_attention_hidden_size directionality pooler_fc_size "
      "pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type");
  return config;
}

/// `root`: the prefix of all but the heads.
Mappings mappings_of(const EncoderOnlyConfig& config, const Kind& kind, const EncoderHeads& heads,
                     const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  // In files converted from TensorFlow.
  map.other_ending(".LayerNorm.weight", ".LayerNorm.gamma");
  map.other_ending(".LayerNorm.bias", ".LayerNorm.beta");
  const std::string table = root + "embeddings.word_embeddings.weight";
  const std::int64_t d = config.d_model, d_ff = config.d_ff, width = config.table_width();
  map.same(table, {config.source_vocab_size, width}, "encoder/embedding/weight");
  map.same(root + "embeddings.position_embeddings.weight",
           {config.position_offset + config.max_length, width}, "encoder/positions/weight");
  if (kind.is_mpnet())
    map.same(root + "encoder.relative_attention_bias.weight", {config.relative_buckets, config.n_heads},
             "encoder/relative_bias/weight");
  else
    map.same(root + "embeddings.token_type_embeddings.weight", {config.n_token_types, width},
             "encoder/token_types/weight");
  map.norm(root + "embeddings.LayerNorm", "encoder/embedding_norm", width);
  if (config.embedding_width > 0)
    map.linear(root + "embeddings_project", "encoder/embedding_projection", width, d);
  const AttentionNames& names = kind.attention();
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string theirs = concat(root, "encoder.layer.", i, '.'), attention = theirs + "attention.",
                      ours = concat("encoder/layer_", i, '/');
    for (const auto& [part, name] : {std::pair("query", names.query),
                                     {"key", names.key},
                                     {"value", names.value},
                                     {"output", names.output}})
      map.linear(attention + name, concat(ours, "self_attention/", part), d, d);
    map.norm(attention + names.norm, ours + "self_attention_norm", d);
    map.linear(theirs + "intermediate.dense", ours + "feed_forward/inner", d, d_ff);
    map.linear(theirs + "output.dense", ours + "feed_forward/outer", d_ff, d);
    map.norm(theirs + "output.LayerNorm", ours + "feed_forward_norm", d);
  }
  const std::string pooler = root + "pooler.dense";
  if (heads.of_tokens) {
    map.linear("classifier", "classes", d, config.n_classes);
    map.ignore("*pooler.dense.*", "the classifier does not read it");
  } else if (heads.classes && kind.has_own_heads()) {  // a pooler of another name; its own is not used
    map.linear("classifier.dense", "encoder/pooler", d, d);
    map.linear("classifier.out_proj", "classes", d, config.n_classes);
    map.ignore("*pooler.dense.*", "the classifier does not read it");
  } else {
    if (config.pooler) map.linear(pooler, "encoder/pooler", d, d);
    if (heads.classes) map.linear("classifier", "classes", d, config.n_classes);
  }
  if (heads.words) {
    const WordNames& words = kind.words();
    map.linear(words.inner, "masked_word/inner", d, width);
    map.norm(words.norm, "masked_word/norm", width);
    map.same(words.bias, {config.source_vocab_size}, "masked_word/bias");
    map.copy(words.weight, table);
    if (words.bias_copy) map.copy(words.bias_copy, words.bias);
  }
  map_dense(config, heads, map);
  if (heads.of_sentences) {
    map.ignore("lm_head.*", "vectors of sentences do not need it");
    map.ignore("cls.*", "vectors of sentences do not need it");
    map.ignore("generator_*", "vectors of sentences do not need it");
  }
  map.ignore("discriminator_predictions.*", "whether a word was replaced is not asked here");
  map.ignore("cls.seq_relationship.*", "whether a sentence follows another is not asked here");
  map.ignore("*embeddings.position_ids", "0, 1, 2, ...");
  map.ignore("*embeddings.token_type_ids", "0, 0, 0, ...");
  return map;
}

ForeignModel describe(const Source& source) {
  const Kind& kind = *kind_of(source.model_type());
  ConfigFields fields = source.config();
  const EncoderHeads heads = heads_of(source, fields, kind);
  SpecialIds special = kNoSpecialIds;
  special.bos = fields.id("bos_token_id", kind.bos);
  special.eos = fields.id("eos_token_id", kind.eos);
  special.pad = fields.id("pad_token_id", kind.pad);
  const EncoderOnlyConfig config = config_of(fields, kind, heads, special.pad);
  ForeignModel found = finish_encoder(source, fields, config, heads, special,
                                      [&](const EncoderOnlyConfig& whole, const EncoderHeads& all) {
                                        return mappings_of(whole, kind, all, kind.prefix);
                                      });
  found.kind = kind.name;
  found.formulas.emplace_back("first_position", std::to_string(config.position_offset));
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const SpecialIds& special = loaded.source.special();
  const Kind& kind = kind_to_export(loaded, config);
  const EncoderHeads heads = EncoderHeads::of(config);
  Requirements require(config, reasons);
  require.keep(same_fields(kind));
  require.keep("max_length");
  want_encoder(require, heads, kind.pooler_activation(), kind.positions());
  if (!heads.classes) require.keep("pooler");
  if (kind.is_mpnet())
    require.want(concat("relative_buckets=", kMpnetBuckets, " relative_max_distance=", kMpnetFarthest));
  else if (config.n_token_types == 0)
    reasons.push_back("n_token_types is 0, wanted at least 1");
  if (kind.has_offset()) require.want("position_offset", {(kind.is_mpnet() ? kMpnetPad : special.pad) + 1});
  if (kind.is_electra()) require.keep("embedding_width");
  if (config.embedding_width == config.d_model)
    reasons.push_back("embedding_width is d_model, wanted 0 or another: else there is no layer between them");
  if (heads.words && kind.has_own_heads()) require.want("activation=gelu");
  const std::string activation = require.word("activation", kExportedActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, kind, heads, heads.of_sentences ? "" : kind.prefix);
  out.config = {{"architectures", {heads.class_of(kind.class_name)}},
                {"model_type", kind.model_type},
                {"hidden_act", activation},
                {"max_position_embeddings", config.position_offset + config.max_length}};
  state_same(same_fields(kind), fields_of(config), out.config);
  if (!kind.is_mpnet() && config.classifier_dropout >= 0)
    out.config["classifier_dropout"] = config.classifier_dropout;
  if (kind.is_mpnet() && heads.classes && config.head_dropout() != config.dropout)
    logging::note("classifier_dropout is not exported: MPNet's classifiers have the dropout of its layers");
  if (kind.is_electra()) out.config["embedding_size"] = config.table_width();
  finish_encoder(loaded, config, heads, kind.has_own_heads(), out);
  return out;
}

}  // namespace
}  // namespace bert

const Family kBert{"bert, roberta, xlm-roberta, camembert, mpnet, electra", bert::recognises, bert::describe,
                   bert::express};

}  // namespace heed::foreign
