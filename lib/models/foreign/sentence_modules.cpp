#include "models/foreign/sentence_modules.h"

#include <algorithm>

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

}  // namespace

std::string read_modules(const Source& source, EncoderOnlyConfig& config, std::vector<std::string>& notes) {
  const std::string path = source.file("modules.json"), where = escaped(path);
  const Json modules = read_json(path);
  const std::vector<std::string> kinds{"Transformer", "Pooling", "Dense", "Normalize"};
  if (!modules.is_array() || modules.size() < 2 || modules.size() > kinds.size())
    fail(where,
         ": wanted a list of Transformer, Pooling and by choice Dense and Normalize: damaged, or other "
         "modules?");
  std::string folder, dense;
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
    if (name == "Dense") dense = its;
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
  ConfigFields pooling = config_of_module(source, folder);
  pooling.without_effect("word_embedding_dimension embedding_dimension include_prompt");
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
  if (!dense.empty()) read_dense(source, dense, config);
  const std::string limit_file = source.file("sentence_bert_config.json");
  if (limit_file.empty()) return dense;
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
  return dense;
}

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

}  // namespace heed::foreign
