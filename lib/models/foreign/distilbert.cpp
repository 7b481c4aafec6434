// DistilBERT (Sanh, Debut, Chaumond, Wolf 2019) in transformers' format:
// https://github.com/huggingface/transformers, src/transformers/models/distilbert; with the heads of BERT
// (bert.cpp), whose layers it has. It has no token types, and a pooler, with ReLU, only in sentence
// classifiers.
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/encoder_heads.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace distilbert {
namespace {

constexpr const char* kModelType = "distilbert";
constexpr const char* kClassName = "DistilBert";
constexpr const char* kBody = "distilbert.";
constexpr double kNormEpsilon = 1e-12;  // no field states it

const std::vector<SameField> kSame{{"vocab_size", "source_vocab_size", 30522},
                                   {"dim", "d_model", 768},
                                   {"n_layers", "n_encoder_layers", 6},
                                   {"n_heads", "n_heads", 12},
                                   {"hidden_dim", "d_ff", 3072},
                                   {"dropout", "dropout", 0.1},
                                   {"attention_dropout", "attention_dropout", 0.1},
                                   {"max_position_embeddings", "max_length", 512}};

bool recognises(const Source& source) {
  return source.model_type() == kModelType;
}

EncoderHeads heads_of(const Source& source, ConfigFields& fields) {
  EncoderHeads heads;
  heads.of_sentences = !source.file("modules.json").empty();
  if (heads.of_sentences) return heads;
  heads.of_tokens = fields.get("architectures") == Json::array({token_classifier(kClassName)});
  heads.classes = heads.of_tokens || source.has("classifier.weight");
  heads.pooler = heads.classes && !heads.of_tokens;
  heads.words = !heads.classes && source.has("vocab_projector.bias");
  return heads;
}

EncoderOnlyConfig config_of(ConfigFields& fields, const EncoderHeads& heads) {
  EncoderOnlyConfig config;
  read_same(kSame, fields, fields_of(config));
  config.activation = fields.choice("activation", "gelu", kActivations);
  config.norm_epsilon = kNormEpsilon;
  config.pooler = heads.pooler;
  config.pooler_activation = "relu";
  // For sentence classifiers; token classifiers use the dropout of the layers.
  const double of_sentences = fields.real("seq_classif_dropout", 0.2);
  config.classifier_dropout = heads.of_tokens ? -1 : of_sentences;
  read_heads(fields, heads, kClassName, config);
  fields.expect("tie_weights_", {true});
  // Sinusoidal tables are stored in the weights like learned ones.
  fields.without_effect("sinusoidal_pos_embds qa_dropout output_past");
  return config;
}

/// `root`: the prefix of all but the heads.
Mappings mappings_of(const EncoderOnlyConfig& config, const EncoderHeads& heads, const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  const std::string table = root + "embeddings.word_embeddings.weight";
  const std::int64_t d = config.d_model, d_ff = config.d_ff;
  map.same(table, {config.source_vocab_size, d}, "encoder/embedding/weight");
  map.same(root + "embeddings.position_embeddings.weight", {config.max_length, d},
           "encoder/positions/weight");
  map.norm(root + "embeddings.LayerNorm", "encoder/embedding_norm", d);
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string theirs = concat(root, "transformer.layer.", i, '.'),
                      ours = concat("encoder/layer_", i, '/');
    for (const auto& [part, name] :
         {std::pair("query", "q"), {"key", "k"}, {"value", "v"}, {"output", "out"}})
      map.linear(concat(theirs, "attention.", name, "_lin"), concat(ours, "self_attention/", part), d, d);
    map.norm(theirs + "sa_layer_norm", ours + "self_attention_norm", d);
    map.linear(theirs + "ffn.lin1", ours + "feed_forward/inner", d, d_ff);
    map.linear(theirs + "ffn.lin2", ours + "feed_forward/outer", d_ff, d);
    map.norm(theirs + "output_layer_norm", ours + "feed_forward_norm", d);
  }
  if (heads.pooler) map.linear("pre_classifier", "encoder/pooler", d, d);
  if (heads.classes) map.linear("classifier", "classes", d, config.n_classes);
  if (heads.words) {
    map.linear("vocab_transform", "masked_word/inner", d, d);
    map.norm("vocab_layer_norm", "masked_word/norm", d);
    map.same("vocab_projector.bias", {config.source_vocab_size}, "masked_word/bias");
    map.copy("vocab_projector.weight", table);
  }
  map_dense(config, heads, map);
  if (heads.of_sentences) map.ignore("vocab_*", "vectors of sentences do not need it");
  map.ignore("*embeddings.position_ids", "0, 1, 2, ...");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  const EncoderHeads heads = heads_of(source, fields);
  SpecialIds special = kNoSpecialIds;
  special.bos = fields.id("bos_token_id");
  special.eos = fields.id("eos_token_id");
  special.pad = fields.id("pad_token_id", 0);
  ForeignModel found = finish_encoder(source, fields, config_of(fields, heads), heads, special,
                                      [](const EncoderOnlyConfig& config, const EncoderHeads& all) {
                                        return mappings_of(config, all, kBody);
                                      });
  found.kind = "DistilBERT";
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  if (config.n_token_types > 0 || config.position_offset > 0) return std::nullopt;  // BERT, RoBERTa
  const EncoderHeads heads = EncoderHeads::of(config);
  Requirements require(config, reasons);
  require.keep(kSame);
  want_encoder(require, heads, "relu");
  require.want("norm_epsilon", {kNormEpsilon});
  const std::string activation = require.word("activation", kExportedActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, heads, heads.of_sentences ? "" : kBody);
  out.config = {{"architectures", {heads.class_of(kClassName)}},
                {"model_type", kModelType},
                {"activation", activation}};
  state_same(kSame, fields_of(config), out.config);
  if (!heads.of_tokens) out.config["seq_classif_dropout"] = config.head_dropout();
  finish_encoder(loaded, config, heads, false, out);
  return out;
}

}  // namespace
}  // namespace distilbert

const Family kDistilBert{"distilbert", distilbert::recognises, distilbert::describe, distilbert::express};

}  // namespace heed::foreign
