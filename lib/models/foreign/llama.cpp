// Llama (Touvron et al. 2023) and close relatives: Mistral has a sliding window, Qwen2 biases of queries,
// keys and values, Qwen3 norms of queries and keys; Gemma has norms times 1 + weight and embeddings times
// sqrt(d); Phi-3 stores queries, keys and values in one tensor, and gate and inner layer in another. In
// transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/{llama,mistral,qwen2,qwen3,gemma,phi3}. Queries and keys are ordered for rotary
// positions with pairs (i, i + d_head / 2), as here.
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/foreign/rotary.h"
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
  double epsilon;
  DefaultIds ids;
  RotarySettingsOf rotary = {};
};

/// Yarn and what else scales positions in other models is longrope in Phi-3.
constexpr RotarySettingsOf kPartOfHeads{"rope_theta", "partial_rotary_factor", 1, false};

constexpr Kind kKinds[] = {
    {"llama", "Llama", 32000, 4096, 11008, 32, 32, 0, 0, 2048, 0, 1e-6, {1, 2}},
    {"mistral", "Mistral", 32000, 4096, 14336, 32, 32, 8, 0, 131072, 4096, 1e-6, {1, 2}},
    {"qwen2", "Qwen2", 151936, 4096, 22016, 32, 32, 32, 0, 32768, 4096, 1e-6, {}},
    {"qwen3", "Qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, 4096, 1e-6, {}},
    {"gemma", "Gemma", 256000, 3072, 24576, 28, 16, 16, 256, 8192, 0, 1e-6, {2, 1, 0}},
    {"phi3", "Phi-3", 32064, 3072, 8192, 32, 32, 0, 0, 4096, 0, 1e-5, {1, 32000, 32000}, kPartOfHeads},
};

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

bool is_kind(const Kind& kind, std::string_view model_type) {
  return kind.model_type == model_type;
}

/// attention_bias states whether all four projections have one.
bool has_biases_by_choice(const Kind& kind) {
  return is_kind(kind, "llama") || is_kind(kind, "qwen3") || is_kind(kind, "gemma");
}

std::vector<SameField> same_fields(const Kind& kind) {
  return {{"vocab_size", "target_vocab_size", kind.vocab_size},
          {"hidden_size", "d_model", kind.d_model},
          {"intermediate_size", "d_ff", kind.d_ff},
          {"num_hidden_layers", "n_decoder_layers", kind.n_layers},
          {"num_attention_heads", "n_heads", kind.n_heads},
          {"max_position_embeddings", "max_length", kind.max_length},
          {"rms_norm_eps", "norm_epsilon", kind.epsilon},
          {"attention_dropout", "attention_dropout", 0}};
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
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
  const bool is_gemma = is_kind(kind, "gemma"), is_phi3 = is_kind(kind, "phi3");
  config.activation = fields.choice("hidden_act", is_gemma ? "gelu_pytorch_tanh" : "silu", kActivations);
  if (is_gemma) {
    if (config.activation == "gelu")
      config.activation = "gelu_tanh";  // transformers takes it so in old files
    fields.expect("hidden_activation", {"gelu_pytorch_tanh"});
    fields.expect("use_bidirectional_attention", {false});
  }
  config.gated = true;
  config.norm_kind = is_gemma ? "rms_plus_one" : "rms";
  config.embedding_scale = is_gemma ? "sqrt_d" : "1";
  config.tied = fields.flag("tie_word_embeddings", is_gemma) ? "decoder" : "none";
  config.dropout = 0;
  if (is_phi3) {
    config.dropout = fields.real("resid_pdrop", 0);
    read_embedding_dropout(fields, "embd_pdrop", config);
    fields.without_effect("original_max_position_embeddings");  // only with longrope
  }
  config.feed_forward_bias = false;
  config.qk_norm = is_kind(kind, "qwen3");
  config.attention_bias = is_kind(kind, "qwen2") ? "qkv" : "none";
  if (is_kind(kind, "llama"))
    config.feed_forward_bias = fields.flag("mlp_bias", false);
  else
    fields.expect("mlp_bias", {false});
  if (has_biases_by_choice(kind)) {
    if (fields.flag("attention_bias", false)) config.attention_bias = "all";
  } else if (is_kind(kind, "qwen2")) {
    fields.expect("attention_bias", {true, false});  // its code does not ask
  } else {
    fields.expect("attention_bias", {false});
  }
  read_rotary(kind.rotary, fields, config);
  config.sliding_window = window_of(fields, kind, config);
  fields.expect("pretraining_tp", {1});
  return config;
}

template <bool fused>
Mappings mappings_of(const DecoderOnlyConfig& config) {
  Mappings map;
  map.optional_prefix(kPrefix);
  const std::int64_t d = config.d_model, d_ff = config.d_ff, d_head = config.head_width(),
                     queries = config.n_heads * d_head, keys = config.key_heads() * d_head;
  const bool biases = config.attention_bias != "none", output_bias = config.attention_bias == "all",
             ff_bias = config.feed_forward_bias;
  map.same(kTable, {config.target_vocab_size, d}, "decoder/embedding/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat("model.layers.", i, '.'), ours = concat("decoder/layer_", i, '/');
    const std::string attention = ours + "self_attention/", network = ours + "feed_forward/";
    map.norm(theirs + "input_layernorm", ours + "self_attention_norm", d, false);
    if (fused) {
      map.stacked(theirs + "self_attn.qkv_proj", d, attention,
                  {{"query", queries}, {"key", keys}, {"value", keys}});
    } else {
      map.linear(theirs + "self_attn.q_proj", attention + "query", d, queries, biases);
      map.linear(theirs + "self_attn.k_proj", attention + "key", d, keys, biases);
      map.linear(theirs + "self_attn.v_proj", attention + "value", d, keys, biases);
    }
    map.linear(theirs + "self_attn.o_proj", attention + "output", queries, d, output_bias);
    if (config.qk_norm) {
      map.norm(theirs + "self_attn.q_norm", attention + "query_norm", d_head, false);
      map.norm(theirs + "self_attn.k_norm", attention + "key_norm", d_head, false);
    }
    map.norm(theirs + "post_attention_layernorm", ours + "feed_forward_norm", d, false);
    if (fused) {
      map.stacked(theirs + "mlp.gate_up_proj", d, network, {{"gate", d_ff}, {"inner", d_ff}});
    } else {
      map.linear(theirs + "mlp.gate_proj", network + "gate", d, d_ff, ff_bias);
      map.linear(theirs + "mlp.up_proj", network + "inner", d, d_ff, ff_bias);
    }
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

MakeMappings mappings_of(const Kind& kind) {
  return is_kind(kind, "phi3") ? mappings_of<true> : mappings_of<false>;
}

ForeignModel describe(const Source& source) {
  const Kind& kind = *kind_of(source.model_type());
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  const DecoderOnlyConfig config = config_of(fields, kind);
  ForeignModel found = finish_decoder(source, fields, config, kind.ids, {kTable, kPrefix}, mappings_of(kind));
  found.kind = kind.name;
  found.formulas = {{"positions", rotary_formula(config)}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return std::nullopt;
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const bool has_part = config.d_rotary > 0 || origin_kind(loaded) == "Phi-3";
  const Kind& kind = *kind_of(config.norm_kind == "rms_plus_one" ? "gemma"
                              : has_part                         ? "phi3"
                              : config.qk_norm                   ? "qwen3"
                              : config.attention_bias == "qkv"   ? "qwen2"
                              : config.sliding_window > 0        ? "mistral"
                                                                 : "llama");
  Requirements require(fields_of(config), reasons);
  require.want(
      "positions=rotary norm=pre norm_kind=rms|rms_plus_one final_norm=by_norm|yes score_scale=1/sqrt_d_head "
      "residual=true parallel_residual=no gated=true embedding_norm=false output_bias=false logit_scale=1.0");
  if (!is_kind(kind, "llama")) require.want("feed_forward_bias=false");
  const bool is_gemma = is_kind(kind, "gemma"), is_phi3 = is_kind(kind, "phi3"),
             slides = is_kind(kind, "mistral") || is_phi3;
  if (slides) require.want("attention_bias=none");
  if (has_biases_by_choice(kind)) require.want("attention_bias=none|all");
  if (!slides) require.want("sliding_window=0");
  if (!is_kind(kind, "qwen3")) require.want("qk_norm=false");
  if (is_gemma) require.want("embedding_scale=sqrt_d activation=gelu_tanh|silu|relu");
  if (is_phi3) require.want("rope_scaling=none");
  if (is_phi3) require.want("d_head", {0, config.d_model / config.n_heads});
  if (!is_phi3) require.want("d_rotary=0");
  if (config.rope_scaling != "yarn") require.want("rope_attention_factor=1.0");
  const std::string activation = require.word(
      "activation",
      {{"silu", "silu"}, {"gelu", "gelu"}, {"gelu_tanh", "gelu_pytorch_tanh"}, {"relu", "relu"}});
  if (!reasons.empty()) return std::nullopt;
  Exported out;
  out.config = {{"architectures", {concat(is_phi3 ? "Phi3" : kind.name, "ForCausalLM")}},
                {"model_type", kind.model_type},
                {"num_key_value_heads", config.key_heads()},
                {"hidden_act", activation}};
  if (is_phi3) {
    out.config["resid_pdrop"] = config.dropout;
    state_embedding_dropout(config, "embd_pdrop", out.config);
  } else {
    out.config["head_dim"] = config.head_width();
  }
  state_same(same_fields(kind), fields_of(config), out.config);
  state_rotary(kind.rotary, config, out.config);
  if (is_kind(kind, "llama")) out.config["mlp_bias"] = config.feed_forward_bias;
  if (has_biases_by_choice(kind)) out.config["attention_bias"] = config.attention_bias == "all";
  if (slides) out.config["sliding_window"] = config.sliding_window > 0 ? Json(config.sliding_window) : Json();
  finish_decoder(loaded, config, {kTable, kPrefix}, mappings_of(kind), out, is_gemma);
  return out;
}

}  // namespace
}  // namespace llama

const Family kLlama{"llama, mistral, qwen2, qwen3, gemma, phi3", llama::recognises, llama::describe,
                    llama::express};

}  // namespace heed::foreign
