#include "models/foreign/sentence_modules.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "models/encoder_only.h"

namespace heed::foreign {
namespace {

/// sentence-transformers' names from torch.nn.
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

/// Stated by versions from 6 on: the module reads and writes the sentence embedding.
void expect_of_sentences(ConfigFields& module) {
  module.expect("module_input_name", {"sentence_embedding"});
  module.expect("module_output_name", {"sentence_embedding"});
}

void read_dense(const Source& source, const std::vector<std::string>& folders, EncoderOnlyConfig& config) {
  for (const std::string& folder : folders) {
    ConfigFields dense = config_of_module(source, folder);
    dense.expect("in_features", {config.dense_width > 0 ? config.dense_width : config.d_model});
    config.dense_inner_width = config.dense_width;
    config.dense_width = dense.number("out_features");
    if (config.dense_width == 0) dense.refuse("out_features", "at least 1");
    const std::string activation =
        dense.choice("activation_function", "torch.nn.modules.activation.Tanh", kDenseWords);
    const bool bias = dense.flag("bias", true);
    if (config.dense_inner_width > 0 && activation != config.dense_activation)
      dense.refuse("activation_function", "that of the Dense before it");
    if (config.dense_inner_width > 0 && bias != config.dense_bias)
      dense.refuse("bias", "as in the Dense before it");
    config.dense_activation = activation;
    config.dense_bias = bias;
    expect_of_sentences(dense);
    dense.finish();
    source.join(folder);
  }
}

/// Throws Error if the states of a prompt would be left out.
void read_pooling(const Source& source, const std::string& folder, EncoderOnlyConfig& config) {
  ConfigFields pooling = config_of_module(source, folder);
  pooling.without_effect("word_embedding_dimension embedding_dimension");
  pooling.expect("include_prompt", {true});
  if (pooling.states_null("include_prompt")) pooling.refuse("include_prompt", "true");
  config.pooling =
      pooling.choice("pooling_mode", "mean", {{"mean", "mean"}, {"cls", "first"}, {"lasttoken", "last"}});
  const bool first = pooling.flag("pooling_mode_cls_token", false),
             last = pooling.flag("pooling_mode_lasttoken", false),
             mean = pooling.flag("pooling_mode_mean_tokens", !first && !last);
  for (const char* other :
       {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens"})
    pooling.expect(other, {false});
  if (pooling.has("pooling_mode")) {
    if ((first && config.pooling != "first") || (last && config.pooling != "last"))
      pooling.refuse("pooling_mode and the flags beside it disagree");
  } else {
    if (first + last + mean != 1)
      pooling.refuse("pooling_mode: wanted one of the mean, the first (cls) and the last state");
    config.pooling = first ? "first" : last ? "last" : "mean";
  }
  pooling.finish();
}

/// What the model's own program puts before texts.
void note_prompts(const Source& source, std::vector<std::string>& notes) {
  const std::string path = source.file("config_sentence_transformers.json");
  if (path.empty()) return;
  const Json settings = read_json_object(path), prompts = settings.value("prompts", Json()),
             usual = settings.value("default_prompt_name", Json());
  std::vector<std::string> stated;
  bool puts = false;
  if (prompts.is_object())
    for (const auto& [name, prompt] : prompts.items()) {
      if (!prompt.is_string() || prompt == "") continue;
      stated.push_back(concat(escaped(name), " ", escaped(prompt.dump(), 1000)));
      puts = puts || usual == name;
    }
  if (stated.empty()) return;
  notes.push_back(
      concat("its own program ", puts ? concat("puts the prompt ", usual.dump()) : "can put a prompt",
             " before each text, which here is part of the text (tokenize --prompt): ", listed(stated)));
}

/// What it does with long ones.
void note_limit(const Source& source, const EncoderOnlyConfig& config, std::vector<std::string>& notes) {
  const std::string limit_file = source.file("sentence_bert_config.json");
  if (limit_file.empty()) return;
  ConfigFields limit(read_json_object(limit_file), escaped(limit_file));
  limit.expect("do_lower_case", {false});
  limit.expect("transformer_task", {"feature-extraction"});
  limit.expect("module_output_name", {"token_embeddings"});
  limit.expect("modality_config",
               {Json{{"text", {{"method", "forward"}, {"method_output_name", "last_hidden_state"}}}}});
  limit.without_effect("unpad_inputs");  // how a batch is laid out
  const std::int64_t longest = limit.number("max_seq_length", config.max_length);
  limit.finish();
  if (longest < config.max_length)
    notes.push_back(concat("its own program cuts sentences to ", longest, " pieces: tokenize --max-length ",
                           longest, " --truncate"));
}

}  // namespace

std::vector<std::string> read_modules(const Source& source, EncoderOnlyConfig& config,
                                      std::vector<std::string>& notes) {
  const std::string path = source.file("modules.json"), where = escaped(path);
  const Json modules = read_json(path);
  // In this order. There may be two of Dense.
  const std::vector<std::string> kinds{"Transformer", "Pooling", "Dense", "Normalize"};
  constexpr std::size_t kDense = 2;
  if (!modules.is_array() || modules.size() < 2 || modules.size() > kinds.size() + 1)
    fail(where,
         ": wanted a list of Transformer, Pooling and by choice Dense, once or twice, and Normalize: "
         "damaged, or other modules?");
  std::string folder;
  std::vector<std::string> dense;
  std::size_t next = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    ConfigFields module(modules[i], concat(where, "[", i, "]"));
    const std::string type = module.word("type"), name = type.substr(type.rfind('.') + 1);
    const auto from = kinds.begin() + static_cast<std::ptrdiff_t>(next);
    const auto kind = static_cast<std::size_t>(std::find(from, kinds.end(), name) - kinds.begin());
    if (kind == kinds.size() || (i < 2 && kind != i))
      module.refuse("type", i < 2                  ? kinds[i]
                            : next == kinds.size() ? "nothing after Normalize"
                                                   : alternatives({from, kinds.end()}));
    const std::string its = module.word("path", "");
    if (i == 0) module.expect("path", {""});
    if (name == "Pooling") folder = its;
    if (name == "Dense") dense.push_back(its);
    next = kind == kDense && dense.size() < 2 ? kDense : kind + 1;
    const bool has_files = name == "Pooling" || name == "Dense";
    if (its.find_first_of("/\\") != std::string::npos || its == ".." || (has_files && its.empty()))
      module.refuse("path", "the name of a folder");
    module.without_effect("idx name");
    module.finish();
    if (name == "Normalize" && !its.empty() && !source.file(its + "/config.json").empty()) {
      ConfigFields normalize = config_of_module(source, its);
      expect_of_sentences(normalize);
      normalize.finish();
    }
  }
  config.normalised = next == kinds.size();
  read_pooling(source, folder, config);
  read_dense(source, dense, config);
  note_prompts(source, notes);
  note_limit(source, config, notes);
  return dense;
}

void add_modules(const EncoderOnlyConfig& config, const std::vector<std::string>& dense, Exported& out) {
  Json modules;
  const auto module = [&](const char* name, const std::string& path) {
    const std::size_t i = modules.size();
    modules.push_back(Json{{"idx", i},
                           {"name", std::to_string(i)},
                           {"path", path},
                           {"type", concat("sentence_transformers.models.", name)}});
  };
  module("Transformer", "");
  module("Pooling", "1_Pooling");
  for (const std::string& folder : dense) module("Dense", folder);
  if (config.normalised) module("Normalize", concat(modules.size(), "_Normalize"));
  const Json pooling{{"word_embedding_dimension", config.d_model},
                     {"pooling_mode_cls_token", config.pooling == "first"},
                     {"pooling_mode_lasttoken", config.pooling == "last"},
                     {"pooling_mode_mean_tokens", config.pooling == "mean"}};
  out.files = {{"modules.json", modules.dump(2) + "\n"}, {"1_Pooling/config.json", pooling.dump(2) + "\n"}};
  std::int64_t width = config.d_model;
  for (const std::string& folder : dense) {
    const std::int64_t next = folder == dense.back() ? config.dense_width : config.dense_inner_width;
    Json fields{
        {"in_features", std::exchange(width, next)}, {"out_features", next}, {"bias", config.dense_bias}};
    for (const auto& [theirs, ours] : kDenseWords)
      if (config.dense_activation == ours) fields["activation_function"] = theirs;
    out.files.emplace_back(concat(folder, "/config.json"), fields.dump(2) + "\n");
  }
}

}  // namespace heed::foreign
