// Embeddings of sentences by the layers of Llama's family, in folders of sentence-transformers: language models whose
// last state is the embedding (Qwen3-Embedding, Zhang et al. 2025), or whose positions see each other in both
// directions (EmbeddingGemma, Schechter Vera et al. 2025). In transformers' format, as in llama.cpp.
#include "base/error.h"
#include "models/config_json.h"
#include "models/encoder_only.h"
#include "models/foreign/encoder_heads.h"
#include "models/foreign/llama_layers.h"
#include "models/foreign/rotary.h"
#include "models/model_file.h"

namespace heed::foreign::llama {
namespace {

/// The config with these layers in place of its own.
EncoderOnlyConfig with_layers(EncoderOnlyConfig config, const DecoderOnlyConfig& layers) {
  static_cast<TransformerOptions&>(config) = layers;
  config.source_vocab_size = layers.target_vocab_size;
  config.n_encoder_layers = layers.n_decoder_layers;
  return config;
}

DecoderOnlyConfig layers_of(const EncoderOnlyConfig& config) {
  DecoderOnlyConfig layers;
  static_cast<TransformerOptions&>(layers) = config;
  layers.target_vocab_size = config.source_vocab_size;
  layers.n_decoder_layers = config.n_encoder_layers;
  return layers;
}

/// `root`: the prefix of all names.
Mappings mappings_of(const EncoderOnlyConfig& config, const Kind& kind, const EncoderHeads& heads,
                     const std::string& root) {
  Mappings map;
  if (!root.empty()) map.optional_prefix(root);
  map_layers(layers_of(config), kind.is("phi3"), root, "encoder", map);
  map_dense(config, heads, map);
  map.ignore(kWordScores, "vectors of sentences do not need it");
  return map;
}

/// Gemma 3 has a field of its own that says whether positions see what follows them.
constexpr const char *kBothWays = "use_bidirectional_attention", *kCausal = "is_causal";

}  // namespace

bool is_encoder(const Source& source) {
  return !source.file("modules.json").empty();
}

ForeignModel describe_encoder(const Source& source) {
  const Kind& kind = *kind_of(source.model_type());
  ConfigFields fields = source.config();
  const bool is_gemma3 = kind.is("gemma3_text");
  if (is_gemma3) fields.expect(kCausal, {true});
  if (kind.is("gemma"))
    fields.expect(kBothWays, {false});  // which only some of transformers' attentions obey
  EncoderOnlyConfig config;
  config.masked_words = false;
  config.causal = is_gemma3 ? !fields.flag(kBothWays, false) : fields.flag(kCausal, true);
  const bool counts_both_sides = is_gemma3 && !config.causal;
  config = with_layers(config, read_layers(fields, kind, counts_both_sides));
  if (!config.causal && !is_gemma3 && config.sliding_window > 0)
    fields.refuse(kCausal, "true where layers have a window");
  EncoderHeads heads;
  heads.of_sentences = true;
  ForeignModel found = finish_encoder(source, fields, config, heads, decoder_ids(fields, kind.ids),
                                      [&](const EncoderOnlyConfig& whole, const EncoderHeads& all) {
                                        return mappings_of(whole, kind, all, kPrefix);
                                      });
  found.kind = kind.name;
  found.formulas.emplace_back("positions", rotary_formula(config));
  return found;
}

std::optional<Exported> express_encoder(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != EncoderOnlyConfig::kArchitecture || loaded.model->images)
    return std::nullopt;
  EncoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  if (config.positions != "rotary" || (config.embedding_norm && !config.norm_kind.starts_with("rms")))
    return std::nullopt;  // BERT, ModernBERT and their relatives
  const Kind& kind = exported_kind(config, loaded);
  const bool is_gemma3 = kind.is("gemma3_text");
  Requirements require(config, reasons);
  require.keep(
      "source_vocab_size n_encoder_layers pooling normalised dense_width dense_inner_width dense_activation "
      "dense_bias");
  require.want("n_classes=0 masked_words=false");
  if (is_gemma3 || config.sliding_window == 0)
    require.keep("causal");
  else
    require.want("causal=true");
  const std::string activation = want_layers(config, kind, require);
  if (!require.are_met()) return std::nullopt;
  const EncoderHeads heads = EncoderHeads::of(config);
  Exported out;
  out.config["architectures"] = {class_name(kind) + (is_gemma3 ? "TextModel" : "Model")};
  const bool counts_both_sides = is_gemma3 && !config.causal;
  state_layers(layers_of(config), kind, activation, counts_both_sides, out.config);
  if (!config.causal) out.config[is_gemma3 ? kBothWays : kCausal] = is_gemma3;
  if (!kind.is_gemma()) scale_table(config, kTable, out);
  out.mappings = mappings_of(config, kind, heads, "");
  finish_encoder(loaded, config, heads, false, out);
  return out;
}

}  // namespace heed::foreign::llama
