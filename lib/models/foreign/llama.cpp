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
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/foreign/layer_types.h"
#include "models/foreign/llama_kinds.h"
#include "models/foreign/rotary.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace llama {
namespace {

constexpr const char* kPrefix = "model.";
constexpr const char* kTable = "model.embed_tokens.weight";

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
  return kind_of(source.model_type()) != nullptr || source.model_type() == kWithImages;
}

void read_window(ConfigFields& fields, const Kind& kind, DecoderOnlyConfig& config) {
  std::int64_t window =
      fields.number("sliding_window", fields.states_null("sliding_window") ? 0 : kind.window);
  if (!kind.reads_layer_types()) {
    // transformers asks Phi-3 for its window alone, and a model without windows for neither.
    expect_one_layer_type(fields);
    if (kind.has_window() && window < config.max_length) config.sliding_window = window;
    return;
  }
  HasWindow usual = [&](std::int64_t) { return window > 0; };
  if (kind.is_qwen()) {
    const std::int64_t full = fields.number("max_window_layers", 28);
    if (!fields.flag("use_sliding_window", false)) window = 0;
    usual = [&window, full](std::int64_t layer) { return window > 0 && layer >= full; };
  }
  const bool is_gemma3 = kind.is("gemma3_text");
  if (is_gemma3) {
    const std::int64_t pattern = fields.number("sliding_window_pattern", 6);
    fields.without_effect("_sliding_window_pattern");
    if (pattern == 0) fields.refuse("sliding_window_pattern", "at least 1");
    usual = [pattern](std::int64_t layer) { return pattern > 0 && (layer + 1) % pattern > 0; };
  }
  read_layer_types(fields, window, usual, config.n_decoder_layers, config);
  if (config.sliding_window < config.max_length || is_gemma3) return;  // there it also tells a layer's base
  config.sliding_window = 0;
  config.window_layers = "w";
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
  const bool is_gemma = kind.is_gemma(), is_gemma3 = kind.is("gemma3_text"), is_phi3 = kind.is("phi3");
  config.activation = fields.choice(kind.activation(), is_gemma ? "gelu_pytorch_tanh" : "silu", kActivations);
  if (is_gemma) fields.expect("use_bidirectional_attention", {false});
  if (is_gemma3) {
    config.norm = "sandwich";
    config.score_width = fields.number("query_pre_attn_scalar", 256);
    if (config.score_width == 0) fields.refuse("query_pre_attn_scalar", "at least 1");
    if (config.n_heads > 0 && config.score_width == config.head_width()) config.score_width = 0;
    for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) fields.expect(cap, {});
    fields.without_effect("cache_implementation");
  } else if (is_gemma) {
    if (config.activation == "gelu")
      config.activation = "gelu_tanh";  // transformers takes it so in old files
    fields.expect("hidden_activation", {"gelu_pytorch_tanh"});
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
  config.qk_norm = kind.has_qk_norm();
  if (kind.is_olmo()) {
    config.norm = "output";
    config.qk_norm_over = "all";
  }
  config.attention_bias = kind.is("qwen2") ? "qkv" : "none";
  if (kind.is("llama"))
    config.feed_forward_bias = fields.flag("mlp_bias", false);
  else
    fields.expect("mlp_bias", {false});
  if (kind.has_biases_by_choice()) {
    if (fields.flag("attention_bias", false)) config.attention_bias = "all";
  } else if (kind.is("qwen2")) {
    fields.expect("attention_bias", {true, false});  // its code does not ask
  } else {
    fields.expect("attention_bias", {false});
  }
  read_window(fields, kind, config);
  read_rotary(kind.rotary, fields, config);
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
             ff_bias = config.feed_forward_bias, by_head = config.qk_norm_over == "head";
  map.same(kTable, {config.target_vocab_size, d}, "decoder/embedding/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat("model.layers.", i, '.'), ours = concat("decoder/layer_", i, '/');
    const std::string attention = ours + "self_attention/", network = ours + "feed_forward/";
    if (config.norm != "output") map.norm(theirs + "input_layernorm", ours + "self_attention_norm", d, false);
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
      map.norm(theirs + "self_attn.q_norm", attention + "query_norm", by_head ? d_head : queries, false);
      map.norm(theirs + "self_attn.k_norm", attention + "key_norm", by_head ? d_head : keys, false);
    }
    if (config.norm != "pre") {
      map.norm(theirs + "post_attention_layernorm", ours + "self_attention_post_norm", d, false);
      if (config.norm == "sandwich")
        map.norm(theirs + "pre_feedforward_layernorm", ours + "feed_forward_norm", d, false);
      map.norm(theirs + "post_feedforward_layernorm", ours + "feed_forward_post_norm", d, false);
    } else {
      map.norm(theirs + "post_attention_layernorm", ours + "feed_forward_norm", d, false);
    }
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
  return kind.is("phi3") ? mappings_of<true> : mappings_of<false>;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  if (source.model_type() == kWithImages)
    fail(fields.where(), ": model_type is ", kWithImages,
         ", which is of text and images: only models of text alone, gemma3_text, are supported");
  const Kind& kind = *kind_of(source.model_type());
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
  const Kind& kind = *kind_of(config.norm == "sandwich"            ? "gemma3_text"
                              : config.norm == "output"            ? "olmo2"
                              : config.norm_kind == "rms_plus_one" ? "gemma"
                              : has_part                           ? "phi3"
                              : config.qk_norm                     ? "qwen3"
                              : config.attention_bias == "qkv"     ? "qwen2"
                              : config.window_layers != "w"        ? "ministral"
                              : config.sliding_window > 0          ? "mistral"
                                                                   : "llama");
  const bool is_gemma3 = kind.is("gemma3_text"), is_phi3 = kind.is("phi3"),
             has_types = kind.has_layer_types();
  Requirements require(config, reasons);
  require.keep(same_fields(kind));
  require.keep("n_kv_heads embedding_scale tied");
  want_rotary(kind.rotary, config, require);
  require.want("norm=pre|sandwich|output final_norm=by_norm|yes gated=true");
  require.want(is_gemma3        ? "norm_kind=rms_plus_one"
               : kind.is_olmo() ? "norm_kind=rms"
                                : "norm_kind=rms|rms_plus_one");
  require.want("qk_norm", {kind.has_qk_norm()});
  require.want(kind.is_olmo() ? "qk_norm_over=all" : "qk_norm_over=head");
  if (kind.is("llama"))
    require.keep("feed_forward_bias");
  else
    require.want("feed_forward_bias=false");
  require.want(kind.has_biases_by_choice() ? "attention_bias=none|all"
               : kind.is("qwen2")          ? "attention_bias=qkv"
                                           : "attention_bias=none");
  if (is_phi3)
    require.want_usual_heads();
  else
    require.keep("d_head");
  if (is_gemma3 || kind.is("llama")) require.want_multiple_of_heads();
  if (is_gemma3)
    require.keep("score_width");
  else
    require.want("score_width", {0, config.head_width()});
  if (kind.has_window()) require.keep("sliding_window");
  if (has_types) require.keep("window_layers");
  if (kind.is_gemma()) require.want("embedding_scale=sqrt_d activation=gelu_tanh|silu|relu");
  const std::string activation = require.word(
      "activation",
      {{"silu", "silu"}, {"gelu", "gelu"}, {"gelu_tanh", "gelu_pytorch_tanh"}, {"relu", "relu"}});
  if (!require.are_met()) return std::nullopt;
  Exported out;
  std::string class_name = kind.name;
  std::erase_if(class_name, [](char c) { return c == '-' || c == ' '; });
  out.config = {{"architectures", {class_name + "ForCausalLM"}},
                {"model_type", kind.model_type},
                {"num_key_value_heads", config.key_heads()},
                {kind.activation(), activation}};
  if (is_phi3) {
    out.config["resid_pdrop"] = config.dropout;
    state_embedding_dropout(config, "embd_pdrop", out.config);
  } else {
    out.config["head_dim"] = config.head_width();
  }
  state_same(same_fields(kind), fields_of(config), out.config);
  state_rotary(kind.rotary, config, out.config);
  if (kind.is("llama")) out.config["mlp_bias"] = config.feed_forward_bias;
  if (kind.has_biases_by_choice()) out.config["attention_bias"] = config.attention_bias == "all";
  if (is_gemma3)
    out.config["query_pre_attn_scalar"] = config.score_width > 0 ? config.score_width : config.head_width();
  const bool has_window = config.sliding_window > 0;
  if (kind.has_one_window()) out.config["sliding_window"] = has_window ? Json(config.sliding_window) : Json();
  if (is_gemma3 || (has_types && has_window)) {
    out.config["sliding_window"] =
        has_window ? config.sliding_window : config.max_length;  // one without any effect
    state_layer_types(config, config.n_decoder_layers, out.config);
    if (kind.is_qwen()) out.config["use_sliding_window"] = true;
  }
  finish_decoder(loaded, config, {kTable, kPrefix}, mappings_of(kind), out, kind.is_gemma());
  return out;
}

}  // namespace
}  // namespace llama

const Family kLlama{"llama, mistral, ministral, qwen2, qwen3, gemma, gemma3_text, olmo2, phi3",
                    llama::recognises, llama::describe, llama::express};

}  // namespace heed::foreign
