// Marian's models (Junczys-Dowmunt et al. 2018), including OPUS-MT, in transformers' format:
// https://github.com/huggingface/transformers, src/transformers/models/marian. The formulas are those of
// transformers, not of Marian itself (marian_native.cpp): sinusoids of frequency 10000^(-2k/d), an epsilon of
// 1e-5, "gelu" by the error function. A layer's final_layer_norm is the norm of its feed-forward network.
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/foreign/pair_layers.h"
#include "models/model_file.h"
#include "models/transformer.h"

namespace heed::foreign {
namespace marian {
namespace {

constexpr PairDefaults kDefaults{58101, 0, "gelu", false};

bool recognises(const Source& source) {
  return source.model_type() == "marian";
}

TransformerConfig config_of(ConfigFields& fields) {
  TransformerConfig config = read_pair(fields, kDefaults);
  config.target_vocab_size = fields.number("decoder_vocab_size", config.source_vocab_size);
  config.positions = "sinusoidal_halves";
  // Of its forerunners: what is not so was never converted.
  fields.expect("static_position_embeddings", {true});
  for (const char* name :
       {"normalize_before", "add_final_layer_norm", "normalize_embedding", "add_bias_logits"})
    fields.expect(name, {false});
  return config;
}

/// Old files have the positions too: they must be the formula's.
void check_positions(const Source& source, const TransformerConfig& config) {
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"})
    if (source.has(name)) check_sinusoids(source, name, config.max_length, config.d_model);
}

/// The order of heed's features of embeddings and states in the foreign model; empty: the same order. Layers
/// are invariant to the order of features, positions are not. Interleaved sinusoids are the sinusoids in
/// halves in another order: for pair k, sine 2k is k there, cosine 2k + 1 is d/2 + k.
std::vector<Slice> features_of(const TransformerConfig& config) {
  std::vector<Slice> features;
  if (config.positions != "sinusoidal") return features;
  for (std::int64_t i = 0; i < config.d_model; ++i) {
    const std::int64_t at = i / 2 + (i % 2) * (config.d_model / 2);
    features.push_back({at, at + 1});
  }
  return features;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  TransformerConfig config = config_of(fields);
  ForeignModel found;
  found.kind = "Marian (transformers)";
  SpecialIds special = kNoSpecialIds;
  special.eos = fields.id("eos_token_id", 0);
  special.pad = fields.id("pad_token_id", 58100);
  special.bos = fields.id("decoder_start_token_id", 58100);
  found.search = generation_of(source, fields, special, config.target_vocab_size, found.notes);
  const bool shared = fields.flag("share_encoder_decoder_embeddings", true);
  choose_pair_ties(source, fields, shared, config, found.notes);
  config.output_bias = has_pair_bias(source);
  fields.finish();
  check_config(config);
  check_positions(source, config);
  SpecialIds of_source = special;
  if (!shared) of_source.pad = of_source.bos = SpecialIds::kAbsent;  // ids of the other vocabulary
  found.config_json = to_json(config);
  found.mappings = pair_mappings(config, shared, features_of(config));
  found.source = tokenizer_of(source, config.source_vocab_size, of_source, found.notes, "source");
  found.target = tokenizer_of(source, config.target_vocab_size, special, found.notes, "target");
  found.formulas = {
      {"positions", config.positions}, {"activation", config.activation}, {"norm_epsilon", "1e-5"}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != TransformerConfig::kArchitecture) return std::nullopt;
  TransformerConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const SpecialIds& special = loaded.target.special();
  Requirements require(config, reasons);
  require.keep("output_bias");
  require.want("positions=sinusoidal|sinusoidal_halves norm=post");
  const std::string activation = require_pair(require, config);
  if (special.bos == SpecialIds::kAbsent)
    reasons.push_back("the vocabulary has no bos, from which a decoder starts");
  if (config.positions == "sinusoidal" && config.d_model % 2) reasons.push_back("d_model is odd");
  if (!require.are_met()) return std::nullopt;

  Exported out;
  const bool shared = config.tied == "all";
  out.mappings = pair_mappings(config, shared, features_of(config));
  out.config = {{"architectures", {"MarianMTModel"}},
                {"model_type", "marian"},
                {"decoder_vocab_size", config.target_vocab_size},
                {"activation_function", activation},
                {"share_encoder_decoder_embeddings", shared},
                {"decoder_start_token_id", special.bos},
                {"forced_eos_token_id", nullptr}};
  state_pair(config, out.config);
  state_decoder_ids(special, out.config);
  out.config["bos_token_id"] = nullptr;
  const SearchSettings search = search_settings_of(loaded.origin).value_or(SearchSettings{});
  if (search.forced_eos) out.config["forced_eos_token_id"] = special.eos;
  out.files.emplace_back("generation_config.json", generation_json(search, special));

  const std::string source = sentencepiece_of(loaded.source), target = sentencepiece_of(loaded.target);
  out.has_tokenizer = !source.empty() && !target.empty();
  if (!out.has_tokenizer) return out;
  const std::string pieces = pieces_json(loaded.source), others = pieces_json(loaded.target);
  out.files.insert(out.files.end(), {{"source.spm", source}, {"target.spm", target}, {"vocab.json", pieces}});
  if (others != pieces) out.files.emplace_back("target_vocab.json", others);
  const Json tokenizer{{"tokenizer_class", "MarianTokenizer"}, {"separate_vocabs", others != pieces}};
  out.files.emplace_back("tokenizer_config.json", tokenizer.dump(2) + "\n");
  return out;
}

}  // namespace
}  // namespace marian

const Family kMarian{"marian", marian::recognises, marian::describe, marian::express};

}  // namespace heed::foreign
