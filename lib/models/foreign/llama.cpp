// Llama (Touvron et al. 2023) and close relatives: Mistral has a sliding window, Ministral in some layers,
// Qwen2 biases of queries, keys and values, Qwen3 norms of queries and keys; Gemma has norms times 1 + weight
// and embeddings times sqrt(d), Gemma 3 (Gemma Team 2025) also norms of queries and keys and of what sublayers
// give, and in some layers a window with rotary positions of another base; OLMo 2 (Team OLMo 2024) has norms of what
// sublayers give alone, and of queries and keys of all heads together; Phi-3 stores queries, keys and values
// in one tensor, and gate and inner layer in another. In transformers' format:
// https://github.com/huggingface/transformers,
// src/transformers/models/{llama,mistral,ministral,qwen2,qwen3,gemma,gemma3,olmo2,phi3}. Queries and keys are ordered
// for rotary positions with pairs (i, i + d_head / 2), as here.
#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/llama_layers.h"
#include "models/foreign/rotary.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace llama {
namespace {

const DecoderNames kNames{concat(kPrefix, kTable), kPrefix};

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr || source.model_type() == kWithImages;
}

template <bool fused>
Mappings mappings_of(const DecoderOnlyConfig& config) {
  Mappings map;
  map.optional_prefix(kPrefix);
  map_layers(config, fused, kPrefix, "decoder", map);
  if (config.tied == "none")
    map.transposed(kWordScores, {config.target_vocab_size, config.d_model}, "decoder/output/weight");
  else
    map.copy(kWordScores, kNames.table);
  return map;
}

MakeMappings mappings_of(const Kind& kind) {
  return kind.is("phi3") ? mappings_of<true> : mappings_of<false>;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  if (source.model_type() == kWithImages)
    fail(fields.where(), ": model_type is ", kWithImages,
         ", which is of text and images: only models of text alone, gemma3_text, are supported");
  if (is_encoder(source)) return describe_encoder(source);
  const Kind& kind = *kind_of(source.model_type());
  fields.without_effect_in_any_model();
  fields.expect("is_causal", {true});
  if (kind.is_gemma()) fields.expect("use_bidirectional_attention", {false});
  const DecoderOnlyConfig config = read_layers(fields, kind);
  ForeignModel found = finish_decoder(source, fields, config, kind.ids, kNames, mappings_of(kind));
  found.kind = kind.name;
  found.formulas = {{"positions", rotary_formula(config)}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return express_encoder(loaded, reasons);
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const Kind& kind = exported_kind(config, loaded);
  Requirements require(config, reasons);
  require.keep("target_vocab_size n_decoder_layers tied");
  const std::string activation = want_layers(config, kind, require);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.config["architectures"] = {class_name(kind) + "ForCausalLM"};
  state_layers(config, kind, activation, false, out.config);
  finish_decoder(loaded, config, kNames, mappings_of(kind), out, kind.is_gemma());
  return out;
}

}  // namespace
}  // namespace llama

const Family kLlama{"llama, mistral, ministral, qwen2, qwen3, gemma, gemma3_text, olmo2, phi3",
                    llama::recognises, llama::describe, llama::express};

}  // namespace heed::foreign
