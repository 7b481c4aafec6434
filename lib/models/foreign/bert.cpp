// BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019) as transformers writes them:
// https://github.com/huggingface/transformers, src/transformers/models/{bert,roberta}; alone, with a head that fills in
// masked words, or with one that classifies sentences or tokens. Models of sentence vectors (MiniLM) are the same in a folder of
// sentence-transformers, https://github.com/huggingface/sentence-transformers, whose modules.json says what is made of the states.
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace {

/// What the two differ in.
struct Kind {
  const char* model_type;
  const char* name;
  const char* prefix;  ///< of all but the heads
  std::int64_t vocab_size;
  std::int32_t pad, bos, eos;
  bool is_roberta;
};

constexpr Kind kKinds[] = {{"bert", "BERT", "bert.", 30522, 0, -1, -1, false},
                           {"roberta", "RoBERTa", "roberta.", 50265, 1, 0, 2, true}};

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
}

/// Which heads the weights have.
struct Heads {
  bool words = false, classes = false, of_tokens = false, pooler = false, of_sentences = false;
  std::string dense{};  ///< the folder of the layer on vectors of sentences; empty: none
};

std::string token_classifier(const Kind& kind) {
  return concat(kind.is_roberta ? "Roberta" : "Bert", "ForTokenClassification");
}

Heads heads_of(const Source& source, ConfigFields& fields, const Kind& kind) {
  Heads heads;
  heads.of_sentences = !source.file("modules.json").empty();
  heads.of_tokens =
      !heads.of_sentences && fields.get("architectures") == Json::array({token_classifier(kind)});
  heads.classes =
      heads.of_tokens || (!heads.of_sentences &&
                          source.has(kind.is_roberta ? "classifier.out_proj.weight" : "classifier.weight"));
  heads.words = !heads.of_sentences && !heads.classes &&
                source.has(kind.is_roberta ? "lm_head.bias" : "cls.predictions.bias");
  const std::string pooler = "pooler.dense.weight";
  heads.pooler = source.has(kind.prefix + pooler) || source.has(pooler);
  return heads;
}

/// sentence-transformers' words, of torch.nn.
constexpr std::initializer_list<std::pair<const char*, const char*>> kDenseWords{
    {"torch.nn.modules.activation.Tanh", "tanh"}, {"torch.nn.modules.linear.Identity", "none"},
    {"torch.nn.modules.activation.ReLU", "relu"}, {"torch.nn.modules.activation.Sigmoid", "sigmoid"},
    {"torch.nn.modules.activation.GELU", "gelu"}, {"torch.nn.modules.activation.SiLU", "silu"}};

/// The settings of a module of sentence-transformers, in its folder.
ConfigFields config_of_module(const Source& source, const std::string& folder) {
  const std::string path = source.file(folder + "/config.json");
  if (path.empty())
    fail(escaped(source.path()), "/modules.json: ", escaped(folder),
         "/config.json is missing: it says what the module does");
  return ConfigFields(read_json_object(path), escaped(path));
}

/// What versions from 6 on state of a module: that it reads and writes the vector of the sentence.
void expect_of_sentences(ConfigFields& module) {
  module.expect("module_input_name", {"sentence_embedding"});
  module.expect("module_output_name", {"sentence_embedding"});
}

void read_dense(const Source& source, const std::string& folder, EncoderOnlyConfig& config) {
  ConfigFields dense = config_of_module(source, folder);
  dense.expect("in_features", {config.d_model});
  config.dense_width = dense.number("out_features");
  config.dense_activation =
      dense.choice("activation_function", "torch.nn.modules.activation.Tanh", kDenseWords);
  dense.expect("bias", {true});
  expect_of_sentences(dense);
  dense.finish();
  source.join(folder);
}

/// The steps of sentence-transformers after the model: pooling, and by choice a layer and normalisation.
void read_modules(const Source& source, EncoderOnlyConfig& config, Heads& heads,
                  std::vector<std::string>& notes) {
  const std::string path = source.file("modules.json"), where = escaped(path);
  const Json modules = read_json(path);
  const std::vector<std::string> kinds{"Transformer", "Pooling", "Dense", "Normalize"};
  if (!modules.is_array() || modules.size() < 2 || modules.size() > kinds.size())
    fail(where,
         ": wanted a list of Transformer, Pooling and by choice Dense and Normalize: damaged, or other "
         "modules?");
  std::string folder;
  std::size_t next = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    ConfigFields module(modules[i], concat(where, "[", i, "]"));
    const std::string type = module.word("type"), name = type.substr(type.rfind('.') + 1);
    const auto kind = static_cast<std::size_t>(
        std::find(kinds.begin() + static_cast<std::ptrdiff_t>(next), kinds.end(), name) - kinds.begin());
    if (kind == kinds.size() || (i < 2 && kind != i))
      module.refuse("type", i < 2 ? kinds[i] : alternatives({kinds.begin() + 2, kinds.end()}));
    next = kind + 1;
    const std::string its = module.word("path", "");
    if (i == 0) module.expect("path", {""});
    if (name == "Pooling") folder = its;
    if (name == "Dense") heads.dense = its;
    const bool has_files = name == "Pooling" || name == "Dense";
    if (its.find_first_of("/\\") != std::string::npos || its == ".." || (has_files && its.empty()))
      module.refuse("path", "the name of a folder");
    module.without_effect({"idx", "name"});
    module.finish();
    if (name == "Normalize" && !its.empty() && !source.file(its + "/config.json").empty()) {
      ConfigFields normalize = config_of_module(source, its);
      expect_of_sentences(normalize);
      normalize.finish();
    }
  }
  config.normalised = next == kinds.size();
  ConfigFields pooling = config_of_module(source, folder);
  pooling.without_effect({"word_embedding_dimension", "embedding_dimension", "include_prompt"});
  const std::string mode = pooling.choice("pooling_mode", "mean", {{"mean", "mean"}, {"cls", "first"}});
  const bool stated = pooling.has("pooling_mode"), first = pooling.flag("pooling_mode_cls_token", false),
             mean = pooling.flag("pooling_mode_mean_tokens", !first);
  for (const char* other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                            "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"})
    pooling.expect(other, {false});
  if (!stated && first == mean)
    pooling.refuse("pooling_mode: wanted either the mean or the first (cls) state");
  pooling.finish();
  config.pooling = stated ? mode : first ? "first" : "mean";
  if (!heads.dense.empty()) read_dense(source, heads.dense, config);
  const std::string limit_file = source.file("sentence_bert_config.json");
  if (limit_file.empty()) return;
  ConfigFields limit(read_json_object(limit_file), escaped(limit_file));
  limit.expect("do_lower_case", {false});
  limit.expect("transformer_task", {"feature-extraction"});
  limit.expect("module_output_name", {"token_embeddings"});
  limit.expect("modality_config",
               {Json{{"text", {{"method", "forward"}, {"method_output_name", "last_hidden_state"}}}}});
  limit.without_effect({"unpad_inputs"});  // how a batch is laid out
  const std::int64_t longest = limit.number("max_seq_length", config.max_length);
  limit.finish();
  if (longest < config.max_length)
    notes.push_back(concat("its own program cuts sentences to ", longest, " pieces: tokenize --max-length ",
                           longest, " --truncate"));
}

EncoderOnlyConfig config_of(ConfigFields& fields, const Kind& kind, const Heads& heads, std::int32_t pad) {
  EncoderOnlyConfig config;
  config.source_vocab_size = fields.number("vocab_size", kind.vocab_size);
  config.d_model = fields.number("hidden_size", 768);
  config.n_encoder_layers = fields.number("num_hidden_layers", 12);
  config.n_heads = fields.number("num_attention_heads", 12);
  config.d_ff = fields.number("intermediate_size", 3072);
  config.activation = fields.choice("hidden_act", "gelu", kBertActivations);
  config.dropout = fields.real("hidden_dropout_prob", 0.1);
  config.attention_dropout = fields.real("attention_probs_dropout_prob", 0.1);
  config.n_token_types = fields.number("type_vocab_size", 2);
  config.norm_epsilon = fields.real("layer_norm_eps", 1e-12);
  // RoBERTa counts the positions of tokens from pad + 1.
  config.position_offset = kind.is_roberta ? std::int64_t{pad} + 1 : 0;
  config.max_length = fields.number("max_position_embeddings", 512) - config.position_offset;
  if (config.max_length < 1)
    fields.refuse("max_position_embeddings", concat("more than ", config.position_offset));
  config.embedding_norm = true;
  config.embedding_scale = "1";
  config.pooling = heads.of_tokens ? "none" : "first";
  config.pooler = (heads.pooler || heads.classes) && !heads.of_tokens;
  config.masked_words = heads.words || heads.classes;
  config.word_transform = config.output_bias = heads.words;
  if (heads.classes) read_classes(fields, config);
  if (heads.of_tokens) config.problem_type = "single_label";  // of a token, whatever is said of sentences
  const std::string name = kind.is_roberta ? "Roberta" : "Bert";
  fields.expect("architectures",
                {Json::array({name + "Model"}), Json::array({name + "ForMaskedLM"}),
                 Json::array({name + "ForPreTraining"}), Json::array({name + "ForSequenceClassification"}),
                 Json::array({token_classifier(kind)})});
  fields.expect("position_embedding_type", {"absolute"});
  fields.expect("is_decoder", {false});
  fields.expect("add_cross_attention", {false});
  fields.expect("is_encoder_decoder", {false});
  fields.expect("tie_word_embeddings", {true});
  fields.without_effect({"classifier_dropout", "tie_encoder_decoder", "cross_attention_hidden_size",
                         "directionality", "pooler_fc_size", "pooler_num_attention_heads",
                         "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"});
  return config;
}

/// `root`: the prefix of all but the heads.
Mappings mappings_of(const EncoderOnlyConfig& config, const Kind& kind, const Heads& heads,
                     const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  // Of files that TensorFlow's became.
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
  Heads heads = heads_of(source, fields, kind);
  SpecialIds special = kNoSpecialIds;
  special.bos = fields.id("bos_token_id", kind.bos);
  special.eos = fields.id("eos_token_id", kind.eos);
  special.pad = fields.id("pad_token_id", kind.pad);
  EncoderOnlyConfig config = config_of(fields, kind, heads, special.pad);
  fields.without_effect_in_any_model();
  ForeignModel found;
  if (heads.classes) found.classes = class_names(fields, config.n_classes);
  fields.finish();
  if (heads.of_sentences) read_modules(source, config, heads, found.notes);
  check_config(config);
  found.kind = kind.name;
  found.config_json = to_json(config);
  found.mappings = mappings_of(config, kind, heads, kind.prefix);
  found.source = tokenizer_of(source, config.source_vocab_size, special, found.notes);
  found.formulas = {{"activation", config.activation},
                    {"norm_epsilon", concat(config.norm_epsilon)},
                    {"first_position", std::to_string(config.position_offset)}};
  return found;
}

constexpr const char* kDenseFolder = "2_Dense";

/// What sentence-transformers reads.
void add_modules(const EncoderOnlyConfig& config, Exported& out) {
  const auto module = [](int i, const char* name, const char* path) {
    return Json{{"idx", i},
                {"name", std::to_string(i)},
                {"path", path},
                {"type", concat("sentence_transformers.models.", name)}};
  };
  Json modules{module(0, "Transformer", ""), module(1, "Pooling", "1_Pooling")};
  const bool dense = config.dense_width > 0;
  if (dense) modules.push_back(module(2, "Dense", kDenseFolder));
  if (config.normalised)
    modules.push_back(module(2 + dense, "Normalize", dense ? "3_Normalize" : "2_Normalize"));
  const Json pooling{{"word_embedding_dimension", config.d_model},
                     {"pooling_mode_cls_token", config.pooling == "first"},
                     {"pooling_mode_mean_tokens", config.pooling == "mean"}};
  out.files = {{"modules.json", modules.dump(2) + "\n"}, {"1_Pooling/config.json", pooling.dump(2) + "\n"}};
  if (!dense) return;
  Json fields{{"in_features", config.d_model}, {"out_features", config.dense_width}, {"bias", true}};
  for (const auto& [theirs, ours] : kDenseWords)
    if (config.dense_activation == ours) fields["activation_function"] = theirs;
  out.files.emplace_back(concat(kDenseFolder, "/config.json"), fields.dump(2) + "\n");
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const SpecialIds& special = loaded.source.special();
  const Kind& kind = kKinds[config.position_offset > 0 ? 1 : 0];
  Heads heads;
  heads.classes = config.n_classes > 0;
  heads.of_tokens = heads.classes && config.pooling == "none";
  heads.words = !heads.classes && config.masked_words;
  heads.of_sentences = !heads.classes && !config.masked_words;
  heads.pooler = config.pooler;
  if (config.dense_width > 0) heads.dense = kDenseFolder;
  Requirements require(reasons);
  require.want<std::string>("positions", config.positions, {"learned"});
  require.want<std::string>("norm", config.norm, {"post"});
  require.want_classic_layers(config);
  require.want<std::string>("final_norm", config.final_norm, {"by_norm", "no"});
  require.want<std::string>("embedding_scale", config.embedding_scale, {"1"});
  require.want<std::string>("score_scale", config.score_scale, {"1/sqrt_d_head"});
  require.want("embedding_norm", config.embedding_norm, {true});
  if (config.n_token_types == 0) reasons.push_back("n_token_types is 0, wanted at least 1");
  if (heads.words) {
    require.want("word_transform", config.word_transform, {true});
    require.want("output_bias", config.output_bias, {true});
  }
  if (heads.classes && !heads.of_tokens) {
    require.want("pooler", config.pooler, {true});
    require.want<std::string>("pooling", config.pooling, {"first"});
  }
  if (kind.is_roberta)
    require.want<std::int64_t>("position_offset", config.position_offset, {special.pad + 1});
  const std::string activation = require.word("activation", config.activation, kExportedActivations);
  if (!reasons.empty()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, kind, heads, heads.of_sentences ? "" : kind.prefix);
  const std::string name = kind.is_roberta ? "Roberta" : "Bert";
  out.config = {{"architectures",
                 {name + (heads.words       ? "ForMaskedLM"
                          : heads.of_tokens ? "ForTokenClassification"
                          : heads.classes   ? "ForSequenceClassification"
                                            : "Model")}},
                {"model_type", kind.model_type},
                {"vocab_size", config.source_vocab_size},
                {"hidden_size", config.d_model},
                {"num_hidden_layers", config.n_encoder_layers},
                {"num_attention_heads", config.n_heads},
                {"intermediate_size", config.d_ff},
                {"hidden_act", activation},
                {"hidden_dropout_prob", config.dropout},
                {"attention_probs_dropout_prob", config.attention_dropout},
                {"max_position_embeddings", config.position_offset + config.max_length},
                {"type_vocab_size", config.n_token_types},
                {"layer_norm_eps", config.norm_epsilon}};
  state_decoder_ids(special, out.config);
  if (heads.classes) state_classes(loaded, config, out.config);
  if (heads.of_sentences) add_modules(config, out);
  return out;
}

}  // namespace

const Family kBert{"bert, roberta", recognises, describe, express};

}  // namespace heed::foreign
