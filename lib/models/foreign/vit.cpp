// ViT (Dosovitskiy et al. 2021) in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/vit; alone or as a classifier, which reads the class token.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace vit {
namespace {

constexpr const char* kPrefix = "vit.";

const std::vector<SameField> kSame{{"hidden_size", "d_model", 768},
                                   {"num_hidden_layers", "n_encoder_layers", 12},
                                   {"num_attention_heads", "n_heads", 12},
                                   {"intermediate_size", "d_ff", 3072},
                                   {"image_size", "image_size", 224},
                                   {"patch_size", "patch_size", 16},
                                   {"num_channels", "n_channels", 3},
                                   {"hidden_dropout_prob", "dropout", 0.0},
                                   {"attention_probs_dropout_prob", "attention_dropout", 0.0},
                                   {"layer_norm_eps", "norm_epsilon", 1e-12}};

bool recognises(const Source& source) {
  return source.model_type() == "vit";
}

EncoderOnlyConfig config_of(ConfigFields& fields, bool classifies, bool has_pooler) {
  EncoderOnlyConfig config;
  config.source_vocab_size = 1;
  read_same(kSame, fields, fields_of(config));
  config.activation = fields.choice("hidden_act", "gelu", kActivations);
  config.norm = "pre";
  if (!fields.flag("qkv_bias", true)) config.attention_bias = "output";
  config.pooling = "first";
  config.pooler = has_pooler;
  config.masked_words = false;
  if (config.image_size < 1 || config.patch_size < 1 || config.image_size % config.patch_size)
    fields.refuse("image_size", concat("a multiple of patch_size = ", config.patch_size));
  else
    config.max_length = config.patches().patches() + 1;
  if (classifies) {
    config.masked_words = true;
    read_classes(fields, config);
  }
  fields.expect("architectures", {Json::array({"ViTModel"}), Json::array({"ViTForImageClassification"})});
  fields.expect("pooler_act", {"tanh"});
  fields.expect("pooler_output_size", {config.d_model});
  fields.without_effect("encoder_stride");  // of pretraining
  return config;
}

/// The shortest text that reads back as the number.
std::string word_of(const Json& number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number.get<double>()).ptr};
}

/// heed's text for a processor's numbers per channel: "0.5", "0.485,0.456,0.406".
std::string of_channels(ConfigFields& processor, const char* name, const std::string& otherwise) {
  const Json& numbers = processor.get(name);
  if (numbers.is_null()) return otherwise;
  if (numbers.is_number()) return word_of(numbers);
  std::vector<std::string> texts;
  for (const Json& each : numbers) {
    if (each.is_number()) texts.push_back(word_of(each));
  }
  if (!numbers.is_array() || texts.size() != numbers.size() || texts.empty()) {
    processor.refuse(name, "a number for each channel");
    return otherwise;
  }
  const bool all_same = std::ranges::count(texts, texts.front()) == std::ssize(texts);
  return all_same ? texts.front() : joined(texts, ",");
}

/// The preprocessing of a picture: preprocessor_config.json, by default as in ViTImageProcessor.
void read_processor(const Source& source, ConfigFields& fields, EncoderOnlyConfig& config) {
  constexpr const char* kFile = "preprocessor_config.json";
  const std::string path = source.file(kFile);
  if (path.empty()) return;
  ConfigFields processor = fields.beside(kFile, read_json_object(path));
  processor.expect("do_resize", {true});
  processor.expect("do_rescale", {true});
  processor.expect("do_center_crop", {false});
  processor.expect("do_pad", {false});
  processor.expect("resample", {2});  // bilinear
  if (std::abs(processor.real("rescale_factor", 1 / 255.0) * 255 - 1) > 1e-6)
    processor.refuse("rescale_factor", "1/255");
  if (processor.has("size")) {
    const Json size = processor.get("size"), side = config.image_size;
    if (size != side && size != Json{{"height", side}, {"width", side}})
      processor.refuse("size", concat("height and width of the model's image_size = ", config.image_size));
  }
  const bool normalises = processor.flag("do_normalize", true);
  const std::string mean = of_channels(processor, "image_mean", config.image_mean),
                    deviation = of_channels(processor, "image_std", config.image_deviation);
  config.image_mean = normalises ? mean : "0";
  config.image_deviation = normalises ? deviation : "1";
  processor.without_effect(
      "image_processor_type feature_extractor_type processor_class crop_size do_convert_rgb data_format "
      "input_data_format default_to_square device return_tensors disable_grouping pad_size "
      "image_seq_length image_token _processor_class _valid_processor_keys");
  fields.merge(processor);
}

Mappings mappings_of(const EncoderOnlyConfig& config, const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  const std::int64_t d = config.d_model, d_ff = config.d_ff, p = config.patch_size;
  const bool inputs_biased = config.attention_bias == "all";
  map.same(root + "embeddings.cls_token", {1, 1, d}, "encoder/class_token");
  map.same(root + "embeddings.position_embeddings", {1, config.max_length, d}, "encoder/positions/weight");
  const std::string patches = root + "embeddings.patch_embeddings.projection";
  map.transposed(patches + ".weight", {d, config.n_channels, p, p}, "encoder/patches/weight");
  map.same(patches + ".bias", {d}, "encoder/patches/bias");
  for (std::int64_t i = 0; i < config.n_encoder_layers; ++i) {
    const std::string theirs = concat(root, "encoder.layer.", i, '.'),
                      ours = concat("encoder/layer_", i, '/');
    map.norm(theirs + "layernorm_before", ours + "self_attention_norm", d);
    for (const char* part : {"query", "key", "value"})
      map.linear(concat(theirs, "attention.attention.", part), concat(ours, "self_attention/", part), d, d,
                 inputs_biased);
    map.linear(theirs + "attention.output.dense", ours + "self_attention/output", d, d);
    map.norm(theirs + "layernorm_after", ours + "feed_forward_norm", d);
    map.linear(theirs + "intermediate.dense", ours + "feed_forward/inner", d, d_ff);
    map.linear(theirs + "output.dense", ours + "feed_forward/outer", d_ff, d);
  }
  map.norm(root + "layernorm", "encoder/final_norm", d);
  if (config.n_classes > 0) map.linear("classifier", "classes", d, config.n_classes);
  if (config.pooler) map.linear(root + "pooler.dense", "encoder/pooler", d, d);
  map.ignore("*embeddings.mask_token", "of pretraining");
  if (config.n_classes > 0) map.ignore("*pooler.dense.*", "the classifier does not read it");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  const bool classifies = source.has("classifier.weight");
  const bool pooler = source.has("pooler.dense.weight") || source.has(concat(kPrefix, "pooler.dense.weight"));
  EncoderOnlyConfig config = config_of(fields, classifies, pooler && !classifies);
  read_processor(source, fields, config);
  fields.without_effect_in_any_model();
  ForeignModel found;
  if (classifies) found.classes = class_names(fields, config.n_classes);
  fields.finish();
  check_config(config);
  found.kind = "ViT";
  found.config_json = to_json(config);
  found.mappings = mappings_of(config, kPrefix);
  found.source = text::Tokenizer::of_ids(config.source_vocab_size, kNoSpecialIds);
  found.formulas = {{"activation", config.activation}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || !loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const bool classifies = config.n_classes > 0;
  Requirements require(config, reasons);
  require.keep(kSame);
  require.keep("source_vocab_size max_length image_mean image_deviation n_classes problem_type masked_words");
  require.keep("embedding_scale feature_places feature_width");  // of other inputs
  if (config.image_size == 0) reasons.emplace_back("it reads features of another program, wanted pictures");
  require.want("positions=learned norm=pre final_norm=by_norm|yes attention_bias=all|output pooling=first");
  require.want_usual_heads();
  require.want_own_keys();
  if (!classifies) require.keep("pooler");
  const std::string activation = require.word("activation", kExportedActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.mappings = mappings_of(config, classifies ? kPrefix : "");
  out.config = {{"architectures", {classifies ? "ViTForImageClassification" : "ViTModel"}},
                {"model_type", "vit"},
                {"hidden_act", activation},
                {"qkv_bias", config.attention_bias == "all"},
                {"pooler_output_size", config.d_model}};
  state_same(kSame, fields_of(config), out.config);
  if (classifies) state_classes(loaded, config, out.config);
  const Json side = config.image_size;
  const Json processor{{"image_processor_type", "ViTImageProcessor"},
                       {"do_resize", true},
                       {"size", {{"height", side}, {"width", side}}},
                       {"resample", 2},
                       {"do_rescale", true},
                       {"rescale_factor", 1 / 255.0},
                       {"do_normalize", true},
                       {"image_mean", loaded.model->images->mean},
                       {"image_std", loaded.model->images->deviation}};
  out.files = {{"preprocessor_config.json", processor.dump(2) + "\n"}};
  out.has_tokenizer = true;  // a ViT needs none
  return out;
}

}  // namespace
}  // namespace vit

const Family kVit{"vit", vit::recognises, vit::describe, vit::express};

}  // namespace heed::foreign
