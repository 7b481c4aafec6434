#include "models/foreign/pair_layers.h"

#include "base/error.h"

namespace heed::foreign {
namespace {

constexpr const char* kShared = "model.shared.weight";
constexpr const char* kSource = "model.encoder.embed_tokens.weight";
constexpr const char* kTarget = "model.decoder.embed_tokens.weight";
constexpr const char* kOutputBias = "final_logits_bias";

std::vector<SameField> same_fields(const PairDefaults& defaults) {
  return {{"vocab_size", "source_vocab_size", defaults.vocab_size},
          {"d_model", "d_model", 1024},
          {"encoder_layers", "n_encoder_layers", 12},
          {"decoder_layers", "n_decoder_layers", 12},
          {"encoder_attention_heads", "n_heads", 16},
          {"encoder_ffn_dim", "d_ff", 4096},
          {"max_position_embeddings", "max_length", 1024},
          {"dropout", "dropout", 0.1},
          {"attention_dropout", "attention_dropout", defaults.attention_dropout},
          {"activation_dropout", "activation_dropout", 0}};
}

std::int64_t decoder_width(const TransformerConfig& config) {
  return config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff;
}

}  // namespace

TransformerConfig read_pair(ConfigFields& fields, const PairDefaults& defaults) {
  TransformerConfig config;
  read_same(same_fields(defaults), fields, fields_of(config));
  config.target_vocab_size = config.source_vocab_size;
  if (fields.number("decoder_attention_heads", 16) != config.n_heads)
    fields.refuse("decoder_attention_heads", std::to_string(config.n_heads));
  config.decoder_d_ff = fields.number("decoder_ffn_dim", 4096);
  if (config.decoder_d_ff == config.d_ff) config.decoder_d_ff = 0;
  config.activation = fields.choice("activation_function", defaults.activation, kActivations);
  config.embedding_scale = fields.flag("scale_embedding", defaults.scales_embeddings) ? "sqrt_d" : "1";
  config.norm_epsilon = 1e-5;
  fields.expect("is_encoder_decoder", {true});
  fields.expect("is_decoder", {false});
  fields.without_effect(
      "encoder_layerdrop decoder_layerdrop init_std classifier_dropout classif_dropout num_hidden_layers "
      "extra_pos_embeddings bos_token_id save_step _num_labels output_past");
  return config;
}

void state_pair(const TransformerConfig& config, Json& out) {
  out["is_encoder_decoder"] = true;
  out["decoder_attention_heads"] = config.n_heads;
  out["decoder_ffn_dim"] = decoder_width(config);
  out["scale_embedding"] = config.embedding_scale == "sqrt_d";
  out["tie_word_embeddings"] = config.tied != "none";
  TransformerConfig stated = config;
  state_same(same_fields({}), fields_of(stated), out);
}

std::string require_pair(Requirements& require, const TransformerConfig& config) {
  require.keep(same_fields({}));
  require.keep("target_vocab_size decoder_d_ff embedding_scale tied");
  require.want(config.norm == "pre" ? "final_norm=by_norm|yes" : "final_norm=by_norm|no");
  require.want_usual_heads();
  require.want_own_keys();
  return require.word("activation", {{"relu", "relu"},
                                     {"silu", "swish"},
                                     {"gelu", "gelu"},
                                     {"gelu_tanh", "gelu_new"},
                                     {"gelu_sigmoid", "quick_gelu"}});
}

void choose_pair_ties(const Source& source, ConfigFields& fields, bool shared, TransformerConfig& config,
                      std::vector<std::string>& notes) {
  const bool output_tied = fields.flag("tie_word_embeddings", true);
  const char* table = shared ? kShared : kTarget;
  if (output_tied && !source.tied(kWordScores, table)) {
    notes.push_back(concat(kWordScores, " differs from ", table, ": they are not tied"));
    config.tied = "none";
  } else {
    config.tied = !output_tied ? "none" : shared ? "all" : "decoder";
  }
}

bool has_pair_bias(const Source& source) {
  return source.has(kOutputBias);
}

Mappings pair_mappings(const TransformerConfig& config, bool shared, const std::vector<Slice>& features) {
  Mappings map;
  const std::int64_t d = config.d_model, n_source = config.source_vocab_size,
                     n_target = config.target_vocab_size;
  const bool normalises_embeddings = config.embedding_norm, ends_in_norm = config.norm == "pre";
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
    if (config.positions == "learned")
      table(concat("model.", name, ".embed_positions.weight"), config.position_offset + config.max_length,
            name + "/positions/weight");
    if (normalises_embeddings) norm(concat("model.", name, ".layernorm_embedding"), name + "/embedding_norm");
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string theirs = concat("model.", name, ".layers.", i, '.'),
                        ours = concat(name, "/layer_", i, '/');
      attention(theirs + "self_attn", ours + "self_attention");
      if (name == "decoder") attention(theirs + "encoder_attn", ours + "cross_attention");
      reads(theirs + "fc1", ours + "feed_forward/inner", d_ff);
      writes(theirs + "fc2", ours + "feed_forward/outer", d_ff);
      norm(theirs + "final_layer_norm", ours + "feed_forward_norm");
    }
    if (ends_in_norm) norm(concat("model.", name, ".layer_norm"), name + "/final_norm");
  };
  stack("encoder", config.n_encoder_layers, config.d_ff);
  stack("decoder", config.n_decoder_layers, decoder_width(config));
  if (config.positions != "learned")
    map.ignore("model.*coder.embed_positions.weight*", "the formula's positions");
  return map;
}

}  // namespace heed::foreign
