// Marian's models (Junczys-Dowmunt et al. 2018), including OPUS-MT, in transformers' format:
// https://github.com/huggingface/transformers, src/transformers/models/marian. The formulas are those of
// transformers, not of Marian itself (marian_npz.cpp): sinusoids of frequency 10000^(-2k/d), an epsilon of
// 1e-5, "gelu" by the error function. A layer's final_layer_norm is the norm of its feed-forward network.
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/model_file.h"
#include "models/transformer.h"

namespace heed::foreign {
namespace marian {
namespace {

constexpr const char* kShared = "model.shared.weight";
constexpr const char* kSource = "model.encoder.embed_tokens.weight";
constexpr const char* kTarget = "model.decoder.embed_tokens.weight";
constexpr const char* kOutputBias = "final_logits_bias";

const std::vector<SameField> kSame{
    {"vocab_size", "source_vocab_size", 58101},      {"d_model", "d_model", 1024},
    {"encoder_layers", "n_encoder_layers", 12},      {"decoder_layers", "n_decoder_layers", 12},
    {"encoder_attention_heads", "n_heads", 16},      {"encoder_ffn_dim", "d_ff", 4096},
    {"max_position_embeddings", "max_length", 1024}, {"dropout", "dropout", 0.1},
    {"attention_dropout", "attention_dropout", 0},   {"activation_dropout", "activation_dropout", 0}};

bool recognises(const Source& source) {
  return source.model_type() == "marian";
}

TransformerConfig config_of(ConfigFields& fields) {
  TransformerConfig config;
  read_same(kSame, fields, fields_of(config));
  config.target_vocab_size = fields.number("decoder_vocab_size", config.source_vocab_size);
  if (fields.number("decoder_attention_heads", 16) != config.n_heads)
    fields.refuse("decoder_attention_heads", std::to_string(config.n_heads));
  config.decoder_d_ff = fields.number("decoder_ffn_dim", 4096);
  if (config.decoder_d_ff == config.d_ff) config.decoder_d_ff = 0;
  config.activation = fields.choice("activation_function", "gelu", kActivations);
  config.embedding_scale = fields.flag("scale_embedding", false) ? "sqrt_d" : "1";
  config.positions = "sinusoidal_halves";
  config.norm_epsilon = 1e-5;
  // Of its forerunners: what is not so was never converted.
  fields.expect("static_position_embeddings", {true});
  for (const char* name :
       {"normalize_before", "add_final_layer_norm", "normalize_embedding", "add_bias_logits"})
    fields.expect(name, {false});
  fields.expect("is_encoder_decoder", {true});
  fields.expect("is_decoder", {false});
  fields.without_effect(
      "encoder_layerdrop decoder_layerdrop init_std classifier_dropout classif_dropout "
      "num_hidden_layers extra_pos_embeddings bos_token_id save_step _num_labels");
  return config;
}

/// Determines which tables are tied, from the settings and the file.
void choose_ties(const Source& source, ConfigFields& fields, TransformerConfig& config, bool& shared,
                 std::vector<std::string>& notes) {
  shared = fields.flag("share_encoder_decoder_embeddings", true);
  const bool output_tied = fields.flag("tie_word_embeddings", true);
  const char* table = shared ? kShared : kTarget;
  if (output_tied && !source.tied(kWordScores, table)) {
    notes.push_back(concat(kWordScores, " differs from ", table, ": they are not tied"));
    config.tied = "none";
  } else {
    config.tied = !output_tied ? "none" : shared ? "all" : "decoder";
  }
}

/// Old files have the positions too: they must be the formula's.
void check_positions(const Source& source, const TransformerConfig& config) {
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"})
    if (source.has(name)) check_sinusoids(source, name, config.max_length, config.d_model);
}

/// The order of heed's features of embeddings and states in the foreign model; empty: the same order. Layers
/// are invariant to the order of features, positions are not.
using Features = std::vector<Slice>;

/// Interleaved sinusoids are the sinusoids in halves in another order: for pair k, sine 2k is k there, cosine
/// 2k + 1 is d/2 + k.
Features features_of(const TransformerConfig& config) {
  Features features;
  if (config.positions != "sinusoidal") return features;
  for (std::int64_t i = 0; i < config.d_model; ++i) {
    const std::int64_t at = i / 2 + (i % 2) * (config.d_model / 2);
    features.push_back({at, at + 1});
  }
  return features;
}

Mappings mappings_of(const TransformerConfig& config, bool shared) {
  Mappings map;
  const Features features = features_of(config);
  const std::int64_t d = config.d_model, n_source = config.source_vocab_size,
                     n_target = config.target_vocab_size;
  const auto table = [&](const std::string& name, std::int64_t rows, const std::string& ours) {
    map.add({name, {rows, d}, ours, false, 1, features});
  };
  const auto vector = [&](const std::string& name, const std::string& ours) {
    map.add({name, {d}, ours, false, 1, features});
  };
  // From states, and to states.
  const auto reads = [&](const std::string& theirs, const std::string& ours, std::int64_t width) {
    map.add({theirs + ".weight", {width, d}, ours + "/weight", true, 1, features});
    map.same(theirs + ".bias", {width}, ours + "/bias");
  };
  const auto writes = [&](const std::string& theirs, const std::string& ours, std::int64_t width) {
    map.add({theirs + ".weight", {d, width}, ours + "/weight", true, 0, features});
    vector(theirs + ".bias", ours + "/bias");
  };
  const auto norm = [&](const std::string& theirs, const std::string& ours) {
    vector(theirs + ".weight", ours + "/gamma");
    vector(theirs + ".bias", ours + "/beta");
  };
  if (config.tied == "all") {
    table(kShared, n_source, "embedding/weight");
  } else {
    table(shared ? kShared : kSource, n_source, "encoder/embedding/weight");
    table(shared ? kShared : kTarget, n_target, "decoder/embedding/weight");
  }
  if (shared) {
    map.copy(kSource, kShared);
    map.copy(kTarget, kShared);
  }
  if (config.tied == "none")
    map.add({kWordScores, {n_target, d}, "decoder/output/weight", true, 1, features});
  else
    map.copy(kWordScores, shared ? kShared : kTarget);
  if (config.output_bias) map.same(kOutputBias, {1, n_target}, "decoder/output/bias");
  const auto attention = [&](const std::string& theirs, const std::string& ours) {
    for (const auto& [name, part] :
         {std::pair(".q_proj", "/query"), {".k_proj", "/key"}, {".v_proj", "/value"}})
      reads(theirs + name, ours + part, d);
    writes(theirs + ".out_proj", ours + "/output", d);
    norm(theirs + "_layer_norm", ours + "_norm");
  };
  const auto stack = [&](const std::string& name, std::int64_t n_layers, std::int64_t d_ff) {
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string theirs = concat("model.", name, ".layers.", i, '.'),
                        ours = concat(name, "/layer_", i, '/');
      attention(theirs + "self_attn", ours + "self_attention");
      if (name == "decoder") attention(theirs + "encoder_attn", ours + "cross_attention");
      reads(theirs + "fc1", ours + "feed_forward/inner", d_ff);
      writes(theirs + "fc2", ours + "feed_forward/outer", d_ff);
      norm(theirs + "final_layer_norm", ours + "feed_forward_norm");
    }
  };
  stack("encoder", config.n_encoder_layers, config.d_ff);
  stack("decoder", config.n_decoder_layers, config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff);
  map.ignore("model.*coder.embed_positions.weight", "the formula's positions");
  return map;
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
  bool shared = true;
  choose_ties(source, fields, config, shared, found.notes);
  config.output_bias = source.has(kOutputBias);
  fields.finish();
  check_config(config);
  check_positions(source, config);
  SpecialIds of_source = special;
  if (!shared) of_source.pad = of_source.bos = SpecialIds::kAbsent;  // ids of the other vocabulary
  found.config_json = to_json(config);
  found.mappings = mappings_of(config, shared);
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
  Requirements require(fields_of(config), reasons);
  require.want("positions=sinusoidal|sinusoidal_halves norm=post");
  require.want_classic_layers();
  require.want(
      "final_norm=by_norm|no norm_epsilon=1e-5 score_scale=1/sqrt_d_head decoder_start=bos "
      "decoder_past=attention embedding_norm=false position_offset=0");
  const std::string activation = require.word("activation", {{"relu", "relu"},
                                                             {"silu", "swish"},
                                                             {"gelu", "gelu"},
                                                             {"gelu_tanh", "gelu_new"},
                                                             {"gelu_sigmoid", "quick_gelu"}});
  if (special.bos == SpecialIds::kAbsent)
    reasons.push_back("the vocabulary has no bos, from which a decoder starts");
  if (config.positions == "sinusoidal" && config.d_model % 2) reasons.push_back("d_model is odd");
  if (!reasons.empty()) return std::nullopt;

  Exported out;
  const bool shared = config.tied == "all";
  out.mappings = mappings_of(config, shared);
  const std::int64_t decoder_d_ff = config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff;
  out.config = {{"architectures", {"MarianMTModel"}},
                {"model_type", "marian"},
                {"decoder_vocab_size", config.target_vocab_size},
                {"decoder_attention_heads", config.n_heads},
                {"decoder_ffn_dim", decoder_d_ff},
                {"activation_function", activation},
                {"scale_embedding", config.embedding_scale == "sqrt_d"},
                {"share_encoder_decoder_embeddings", shared},
                {"tie_word_embeddings", config.tied != "none"},
                {"is_encoder_decoder", true},
                {"decoder_start_token_id", special.bos},
                {"forced_eos_token_id", nullptr}};
  state_same(kSame, fields_of(config), out.config);
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
