// BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019) in transformers' format:
// https://github.com/huggingface/transformers, src/transformers/models/{bert,roberta}; alone, with a head for
// masked words, or with one that classifies sentences or tokens; or in a folder of sentence-transformers
// (MiniLM).
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/encoder_heads.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace bert {
namespace {

/// The differences between the two.
struct Kind {
  const char* model_type;
  const char* name;
  const char* class_name;  ///< as transformers' classes begin
  const char* prefix;      ///< of all but the heads
  std::int64_t vocab_size;
  std::int32_t pad, bos, eos;
  bool is_roberta;
};

constexpr Kind kKinds[] = {{"bert", "BERT", "Bert", "bert.", 30522, 0, -1, -1, false},
                           {"roberta", "RoBERTa", "Roberta", "roberta.", 50265, 1, 0, 2, true}};

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

std::vector<SameField> same_fields(const Kind& kind) {
  return {{"vocab_size", "source_vocab_size", kind.vocab_size},
          {"hidden_size", "d_model", 768},
          {"num_hidden_layers", "n_encoder_layers", 12},
          {"num_attention_heads", "n_heads", 12},
          {"intermediate_size", "d_ff", 3072},
          {"hidden_dropout_prob", "dropout", 0.1},
          {"attention_probs_dropout_prob", "attention_dropout", 0.1},
          {"type_vocab_size", "n_token_types", 2},
          {"layer_norm_eps", "norm_epsilon", 1e-12}};
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
}

EncoderHeads heads_of(const Source& source, ConfigFields& fields, const Kind& kind) {
  EncoderHeads heads;
  heads.of_sentences = !source.file("modules.json").empty();
  heads.of_tokens =
      !heads.of_sentences && fields.get("architectures") == Json::array({token_classifier(kind.class_name)});
  heads.classes =
      heads.of_tokens || (!heads.of_sentences &&
                          source.has(kind.is_roberta ? "classifier.out_proj.weight" : "classifier.weight"));
  heads.words = !heads.of_sentences && !heads.classes &&
                source.has(kind.is_roberta ? "lm_head.bias" : "cls.predictions.bias");
  const std::string pooler = "pooler.dense.weight";
  heads.pooler = source.has(kind.prefix + pooler) || source.has(pooler);
  return heads;
}

EncoderOnlyConfig config_of(ConfigFields& fields, const Kind& kind, const EncoderHeads& heads,
                            std::int32_t pad) {
  EncoderOnlyConfig config;
  read_same(same_fields(kind), fields, fields_of(config));
  config.activation = fields.choice("hidden_act", "gelu", kActivations);
  // RoBERTa numbers the positions of tokens from pad + 1.
  config.position_offset = kind.is_roberta ? std::int64_t{pad} + 1 : 0;
  config.max_length = fields.number("max_position_embeddings", 512) - config.position_offset;
  if (config.max_length < 1)
    fields.refuse("max_position_embeddings", concat("more than ", config.position_offset));
  config.pooler = (heads.pooler || heads.classes) && !heads.of_tokens;
  config.classifier_dropout = fields.real("classifier_dropout", -1);
  config.pooler_dropout = kind.is_roberta;
  read_heads(fields, heads, kind.class_name, config);
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
  const std::int64_t d = config.d_model, d_ff = config.d_ff;
  map.same(table, {config.source_vocab_size, d}, "encoder/embedding/weight");
  map.same(root + "embeddings.position_embeddings.weight", {config.position_offset + config.max_length, d},
           "encoder/positions/weight");
  map.same(root + "embeddings.token_type_embeddings.weight", {config.n_token_types, d},
           "encoder/token_types/weight");
  map.norm(root + "embeddings.LayerNorm", "encoder/embedding_norm", d);
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string theirs = concat(root, "encoder.layer.", i, '.'),
                      ours = concat("encoder/layer_", i, '/');
    for (const char* part : {"query", "key", "value"})
      map.linear(concat(theirs, "attention.self.", part), concat(ours, "self_attention/", part), d, d);
    map.linear(theirs + "attention.output.dense", ours + "self_attention/output", d, d);
    map.norm(theirs + "attention.output.LayerNorm", ours + "self_attention_norm", d);
    map.linear(theirs + "intermediate.dense", ours + "feed_forward/inner", d, d_ff);
    map.linear(theirs + "output.dense", ours + "feed_forward/outer", d_ff, d);
    map.norm(theirs + "output.LayerNorm", ours + "feed_forward_norm", d);
  }
  const std::string pooler = root + "pooler.dense";
  if (heads.of_tokens) {
    map.linear("classifier", "classes", d, config.n_classes);
    map.ignore("*pooler.dense.*", "the classifier does not read it");
  } else if (heads.classes && kind.is_roberta) {  // a pooler of another name; its own is not used
    map.linear("classifier.dense", "encoder/pooler", d, d);
    map.linear("classifier.out_proj", "classes", d, config.n_classes);
    map.ignore("*pooler.dense.*", "the classifier does not read it");
  } else {
    if (config.pooler) map.linear(pooler, "encoder/pooler", d, d);
    if (heads.classes) map.linear("classifier", "classes", d, config.n_classes);
  }
  const std::string words = kind.is_roberta ? "lm_head." : "cls.predictions.";
  if (heads.words) {
    map.linear(words + (kind.is_roberta ? "dense" : "transform.dense"), "masked_word/inner", d, d);
    map.norm(words + (kind.is_roberta ? "layer_norm" : "transform.LayerNorm"), "masked_word/norm", d);
    map.same(words + "bias", {config.source_vocab_size}, "masked_word/bias");
    map.copy(words + "decoder.weight", table);
    map.copy(words + "decoder.bias", words + "bias");
  }
  if (!heads.dense.empty()) map.linear(heads.dense + "/linear", "sentences/dense", d, config.dense_width);
  if (heads.of_sentences) {
    map.ignore("lm_head.*", "vectors of sentences do not need it");
    map.ignore("cls.*", "vectors of sentences do not need it");
  }
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
  const Kind& kind = kKinds[config.position_offset > 0 ? 1 : 0];
  const EncoderHeads heads = EncoderHeads::of(config);
  Requirements require(fields_of(config), reasons);
  want_encoder(require, heads, "tanh");
  if (config.n_token_types == 0) reasons.push_back("n_token_types is 0, wanted at least 1");
  if (kind.is_roberta) require.want("position_offset", {special.pad + 1});
  const std::string activation = require.word("activation", kExportedActivations);
  if (!reasons.empty()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, kind, heads, heads.of_sentences ? "" : kind.prefix);
  out.config = {{"architectures", {heads.class_of(kind.class_name)}},
                {"model_type", kind.model_type},
                {"hidden_act", activation},
                {"max_position_embeddings", config.position_offset + config.max_length}};
  state_same(same_fields(kind), fields_of(config), out.config);
  if (config.classifier_dropout >= 0) out.config["classifier_dropout"] = config.classifier_dropout;
  finish_encoder(loaded, config, heads, kind.is_roberta, out);
  return out;
}

}  // namespace
}  // namespace bert

const Family kBert{"bert, roberta", bert::recognises, bert::describe, bert::express};

}  // namespace heed::foreign
