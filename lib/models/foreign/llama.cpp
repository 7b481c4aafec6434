// Llama (Touvron et al. 2023) and close relatives: Mistral has a sliding window, Qwen2 biases of queries,
// keys and values, Qwen3 norms of queries and keys. In transformers' format:
// https://github.com/huggingface/transformers,
// src/transformers/models/{llama,mistral,qwen2,qwen3,modeling_rope_utils}. Queries and keys are ordered for
// rotary positions with pairs (i, i + d_head / 2), as here.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace llama {
namespace {

constexpr const char* kPrefix = "model.";
constexpr const char* kTable = "model.embed_tokens.weight";

/// The settings of a family member that the config does not state.
struct Kind {
  const char* model_type;
  const char* name;
  std::int64_t vocab_size, d_model, d_ff, n_layers, n_heads, n_kv_heads /* 0: as n_heads */, d_head,
      max_length, window;
  std::int32_t bos, eos;
};

constexpr Kind kKinds[] = {
    {"llama", "Llama", 32000, 4096, 11008, 32, 32, 0, 0, 2048, 0, 1, 2},
    {"mistral", "Mistral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 4096, 1, 2},
    {"qwen2", "Qwen2", 151936, 4096, 22016, 32, 32, 32, 0, 32768, 4096, -1, -1},
    {"qwen3", "Qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, 4096, -1, -1},
};

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

std::vector<SameField> same_fields(const Kind& kind) {
  return {{"vocab_size", "target_vocab_size", kind.vocab_size},
          {"hidden_size", "d_model", kind.d_model},
          {"intermediate_size", "d_ff", kind.d_ff},
          {"num_hidden_layers", "n_decoder_layers", kind.n_layers},
          {"num_attention_heads", "n_heads", kind.n_heads},
          {"max_position_embeddings", "max_length", kind.max_length},
          {"rms_norm_eps", "norm_epsilon", 1e-6},
          {"attention_dropout", "attention_dropout", 0}};
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
}

bool is_kind(const Kind& kind, std::string_view model_type) {
  return kind.model_type == model_type;
}

/// The settings specific to YaRN. Null is their default, and so, for the two betas, is 0.
void read_yarn(ConfigFields& fields, DecoderOnlyConfig& config) {
  const auto above_zero = [&](const char* name, double otherwise) {
    const double stated = fields.real(name, 0);
    return stated == 0 ? otherwise : stated;
  };
  config.rope_low_freq_factor = above_zero("beta_slow", 1);
  config.rope_high_freq_factor = above_zero("beta_fast", 32);
  config.rope_original_length = fields.number("original_max_position_embeddings", config.max_length);
  const auto scale = [&](double weight) {
    return config.rope_factor <= 1 ? 1 : 0.1 * weight * std::log(config.rope_factor) + 1;
  };
  const double mscale = fields.real("mscale", 0), all = fields.real("mscale_all_dim", 0);
  config.rope_attention_factor =
      fields.real("attention_factor", mscale != 0 && all != 0 ? scale(mscale) / scale(all) : scale(1));
  fields.expect("truncate", {true});
}

/// The fields of rope_scaling, or of rope_parameters.
void read_rope(ConfigFields& fields, DecoderOnlyConfig& config) {
  const char* type = fields.has("rope_type") ? "rope_type" : "type";
  config.rope_scaling = fields.choice(
      type, "default", {{"default", "none"}, {"linear", "linear"}, {"llama3", "llama3"}, {"yarn", "yarn"}});
  fields.without_effect("rope_type type");
  if (config.rope_scaling != "none") config.rope_factor = fields.real("factor");
  if (config.rope_scaling == "llama3") {
    config.rope_low_freq_factor = fields.real("low_freq_factor");
    config.rope_high_freq_factor = fields.real("high_freq_factor");
    config.rope_original_length = fields.number("original_max_position_embeddings");
  }
  if (config.rope_scaling == "yarn") read_yarn(fields, config);
  fields.expect("partial_rotary_factor", {1.0, 1});
}

/// Older files state rope_theta and rope_scaling, newer ones rope_parameters; some both.
void read_positions(ConfigFields& fields, DecoderOnlyConfig& config) {
  config.positions = "rotary";
  config.rope_base = fields.real("rope_theta", 10000);
  ConfigFields old = fields.object("rope_scaling");
  old.without_effect("rope_theta");
  read_rope(old, config);
  fields.merge(old);
  if (!fields.has("rope_parameters")) return;
  const DecoderOnlyConfig stated = config;
  ConfigFields parameters = fields.object("rope_parameters");
  config.rope_base = parameters.real("rope_theta", config.rope_base);
  read_rope(parameters, config);
  fields.merge(parameters);
  if ((fields.has("rope_theta") && stated.rope_base != config.rope_base) ||
      (fields.has("rope_scaling") &&
       (stated.rope_scaling != config.rope_scaling || stated.rope_factor != config.rope_factor)))
    fields.refuse("rope_parameters", "what rope_theta and rope_scaling say");
}

/// One window for all layers, or none.
std::int64_t window_of(ConfigFields& fields, const Kind& kind, const DecoderOnlyConfig& config) {
  std::int64_t window =
      fields.number("sliding_window", fields.states_null("sliding_window") ? 0 : kind.window);
  const Json& types = fields.get("layer_types");
  if (is_kind(kind, "qwen2") || is_kind(kind, "qwen3")) {
    const std::int64_t full = fields.number("max_window_layers", 28);
    if (!fields.flag("use_sliding_window", false)) window = 0;
    if (types.is_null()) {  // layer_types follow from max_window_layers
      if (full >= config.n_decoder_layers) window = 0;
      if (window > 0 && full > 0 && window < config.max_length)
        fields.refuse("max_window_layers",
                      "0, or as many as there are layers: all layers have one window here");
    }
  }
  if (types.is_array()) {
    const auto all = [&](const char* type) {
      return std::ranges::count(types, Json(type)) == std::ssize(types);
    };
    if (all("full_attention")) return 0;
    if (!all("sliding_attention")) fields.refuse("layer_types", "one type for all layers");
  } else if (!types.is_null()) {
    fields.refuse("layer_types", "a list");
  }
  return window >= config.max_length ? 0 : window;
}

DecoderOnlyConfig config_of(ConfigFields& fields, const Kind& kind) {
  DecoderOnlyConfig config;
  read_same(same_fields(kind), fields, fields_of(config));
  const bool as_heads = kind.n_kv_heads == 0 || fields.states_null("num_key_value_heads");
  config.n_kv_heads = fields.number("num_key_value_heads", as_heads ? config.n_heads : kind.n_kv_heads);
  config.d_head = fields.number("head_dim", kind.d_head);
  // Other programs state explicitly what is the default here.
  if (config.d_head * config.n_heads == config.d_model) config.d_head = 0;
  if (config.n_kv_heads == config.n_heads) config.n_kv_heads = 0;
  config.activation = fields.choice("hidden_act", "silu", kActivations);
  config.gated = true;
  config.norm_kind = "rms";
  config.embedding_scale = "1";
  config.tied = fields.flag("tie_word_embeddings", false) ? "decoder" : "none";
  config.dropout = 0;
  config.feed_forward_bias = false;
  config.qk_norm = is_kind(kind, "qwen3");
  config.attention_bias = is_kind(kind, "qwen2") ? "qkv" : "none";
  if (is_kind(kind, "llama"))
    config.feed_forward_bias = fields.flag("mlp_bias", false);
  else
    fields.expect("mlp_bias", {false});
  if (is_kind(kind, "llama") || is_kind(kind, "qwen3")) {
    if (fields.flag("attention_bias", false)) config.attention_bias = "all";
  } else {
    fields.expect("attention_bias", {is_kind(kind, "qwen2"), false});
  }
  read_positions(fields, config);
  config.sliding_window = window_of(fields, kind, config);
  fields.expect("pretraining_tp", {1});
  return config;
}

Mappings mappings_of(const DecoderOnlyConfig& config) {
  Mappings map;
  map.optional_prefix(kPrefix);
  const std::int64_t d = config.d_model, d_ff = config.d_ff,
                     d_head = config.d_head > 0 ? config.d_head : d / config.n_heads,
                     queries = config.n_heads * d_head,
                     keys = (config.n_kv_heads > 0 ? config.n_kv_heads : config.n_heads) * d_head;
  const bool biases = config.attention_bias != "none", output_bias = config.attention_bias == "all",
             ff_bias = config.feed_forward_bias;
  map.same(kTable, {config.target_vocab_size, d}, "decoder/embedding/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat("model.layers.", i, '.'), ours = concat("decoder/layer_", i, '/');
    const std::string attention = ours + "self_attention/", network = ours + "feed_forward/";
    map.norm(theirs + "input_layernorm", ours + "self_attention_norm", d, false);
    map.linear(theirs + "self_attn.q_proj", attention + "query", d, queries, biases);
    map.linear(theirs + "self_attn.k_proj", attention + "key", d, keys, biases);
    map.linear(theirs + "self_attn.v_proj", attention + "value", d, keys, biases);
    map.linear(theirs + "self_attn.o_proj", attention + "output", queries, d, output_bias);
    if (config.qk_norm) {
      map.norm(theirs + "self_attn.q_norm", attention + "query_norm", d_head, false);
      map.norm(theirs + "self_attn.k_norm", attention + "key_norm", d_head, false);
    }
    map.norm(theirs + "post_attention_layernorm", ours + "feed_forward_norm", d, false);
    map.linear(theirs + "mlp.gate_proj", network + "gate", d, d_ff, ff_bias);
    map.linear(theirs + "mlp.up_proj", network + "inner", d, d_ff, ff_bias);
    map.linear(theirs + "mlp.down_proj", network + "outer", d_ff, d, ff_bias);
  }
  map.norm("model.norm", "decoder/final_norm", d, false);
  if (config.tied == "none")
    map.transposed(kWordScores, {config.target_vocab_size, d}, "decoder/output/weight");
  else
    map.copy(kWordScores, kTable);
  map.ignore("*layers.*.self_attn.rotary_emb.inv_freq", "computed from the settings");
  return map;
}

ForeignModel describe(const Source& source) {
  const Kind& kind = *kind_of(source.model_type());
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  const DecoderOnlyConfig config = config_of(fields, kind);
  ForeignModel found =
      finish_decoder(source, fields, config, kind.bos, kind.eos, kTable, kPrefix, mappings_of);
  found.kind = kind.name;
  found.formulas = {{"positions", concat("rotary, pairs (i, i + d_head/2), base ", config.rope_base,
                                         ", scaling ", config.rope_scaling)},
                    {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return std::nullopt;
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const Kind& kind = *kind_of(config.qk_norm                   ? "qwen3"
                              : config.attention_bias == "qkv" ? "qwen2"
                              : config.sliding_window > 0      ? "mistral"
                                                               : "llama");
  Requirements require(fields_of(config), reasons);
  require.want(
      "positions=rotary norm=pre norm_kind=rms final_norm=by_norm|yes score_scale=1/sqrt_d_head "
      "residual=true gated=true embedding_norm=false output_bias=false logit_scale=1.0");
  if (!is_kind(kind, "llama")) require.want("feed_forward_bias=false");
  if (is_kind(kind, "mistral")) require.want("attention_bias=none");
  if (is_kind(kind, "llama") || is_kind(kind, "qwen3")) require.want("attention_bias=none|all");
  if (!is_kind(kind, "mistral")) require.want("sliding_window=0");
  if (config.rope_scaling != "yarn") require.want("rope_attention_factor=1.0");
  const std::string activation = require.word(
      "activation",
      {{"silu", "silu"}, {"gelu", "gelu"}, {"gelu_tanh", "gelu_pytorch_tanh"}, {"relu", "relu"}});
  if (!reasons.empty()) return std::nullopt;
  Exported out;
  out.config = {{"architectures", {concat(kind.name, "ForCausalLM")}},
                {"model_type", kind.model_type},
                {"num_key_value_heads", config.n_kv_heads > 0 ? config.n_kv_heads : config.n_heads},
                {"head_dim", config.d_head > 0 ? config.d_head : config.d_model / config.n_heads},
                {"hidden_act", activation},
                {"rope_theta", config.rope_base}};
  state_same(same_fields(kind), fields_of(config), out.config);
  Json rope;
  if (config.rope_scaling != "none")
    rope = {{"rope_type", config.rope_scaling}, {"factor", config.rope_factor}};
  if (config.rope_scaling == "llama3") {
    rope["low_freq_factor"] = config.rope_low_freq_factor;
    rope["high_freq_factor"] = config.rope_high_freq_factor;
    rope["original_max_position_embeddings"] = config.rope_original_length;
  }
  if (config.rope_scaling == "yarn") {
    rope["beta_slow"] = config.rope_low_freq_factor;
    rope["beta_fast"] = config.rope_high_freq_factor;
    rope["original_max_position_embeddings"] = config.rope_original_length;
    rope["attention_factor"] = config.rope_attention_factor;
  }
  out.config["rope_scaling"] = rope;
  if (is_kind(kind, "llama")) out.config["mlp_bias"] = config.feed_forward_bias;
  if (is_kind(kind, "llama") || is_kind(kind, "qwen3"))
    out.config["attention_bias"] = config.attention_bias == "all";
  if (is_kind(kind, "mistral")) out.config["sliding_window"] = config.sliding_window;
  finish_decoder(loaded, config, kTable, mappings_of, out);
  return out;
}

}  // namespace
}  // namespace llama

const Family kLlama{"llama, mistral, qwen2, qwen3", llama::recognises, llama::describe, llama::express};

}  // namespace heed::foreign
