#include "models/foreign/llama_layers.h"

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/layer_types.h"
#include "models/foreign/rotary.h"

namespace heed::foreign::llama {
namespace {

std::vector<SameField> stack_fields(const Kind& kind) {
  return {{"vocab_size", "target_vocab_size", kind.vocab_size},
          {"num_hidden_layers", "n_decoder_layers", kind.n_layers}};
}

/// Of layers in any stack.
std::vector<SameField> layer_fields(const Kind& kind) {
  return {{"hidden_size", "d_model", kind.d_model},
          {"intermediate_size", "d_ff", kind.d_ff},
          {"num_attention_heads", "n_heads", kind.n_heads},
          {"max_position_embeddings", "max_length", kind.max_length},
          {"rms_norm_eps", "norm_epsilon", kind.epsilon},
          {"attention_dropout", "attention_dropout", 0}};
}

/// `both_ways`: transformers then counts the keys on both sides.
void read_window(ConfigFields& fields, const Kind& kind, bool both_ways, DecoderOnlyConfig& config) {
  std::int64_t window =
      fields.number("sliding_window", fields.states_null("sliding_window") ? 0 : kind.window);
  if (both_ways && !fields.states_null("sliding_window")) window = window / 2 + 1;
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

}  // namespace

DecoderOnlyConfig read_layers(ConfigFields& fields, const Kind& kind, bool both_ways) {
  DecoderOnlyConfig config;
  read_same(stack_fields(kind), fields, fields_of(config));
  read_same(layer_fields(kind), fields, fields_of(config));
  const bool as_heads = kind.n_kv_heads == 0 || fields.states_null("num_key_value_heads");
  config.n_kv_heads = fields.number("num_key_value_heads", as_heads ? config.n_heads : kind.n_kv_heads);
  config.d_head = fields.number("head_dim", kind.d_head);
  // Other programs state explicitly what is the default here.
  if (config.d_head * config.n_heads == config.d_model) config.d_head = 0;
  if (config.n_kv_heads == config.n_heads) config.n_kv_heads = 0;
  const bool is_gemma = kind.is_gemma(), is_gemma3 = kind.is("gemma3_text"), is_phi3 = kind.is("phi3");
  config.activation = fields.choice(kind.activation(), is_gemma ? "gelu_pytorch_tanh" : "silu", kActivations);
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
  read_window(fields, kind, both_ways, config);
  read_rotary(kind.rotary, fields, config);
  fields.expect("pretraining_tp", {1});
  if (fields.states_null("is_causal"))
    fields.refuse("is_causal", "true or false");  // transformers takes it for false
  return config;
}

void map_layers(const DecoderOnlyConfig& config, bool fused, const std::string& root,
                const std::string& stack, Mappings& map) {
  const std::int64_t d = config.d_model, d_ff = config.d_ff, d_head = config.head_width(),
                     queries = config.n_heads * d_head, keys = config.key_heads() * d_head;
  const bool biases = config.attention_bias != "none", output_bias = config.attention_bias == "all",
             ff_bias = config.feed_forward_bias, by_head = config.qk_norm_over == "head";
  map.same(root + kTable, {config.target_vocab_size, d}, stack + "/embedding/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat(root, "layers.", i, '.'), ours = concat(stack, "/layer_", i, '/');
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
  map.norm(root + "norm", stack + "/final_norm", d, false);
  map.ignore("*layers.*.self_attn.rotary_emb.inv_freq", "computed from the settings");
}

const Kind& exported_kind(const TransformerOptions& config, const LoadedModel& loaded) {
  const bool has_part = config.d_rotary > 0 || origin_kind(loaded) == "Phi-3";
  return *kind_of(config.norm == "sandwich"            ? "gemma3_text"
                  : config.norm == "output"            ? "olmo2"
                  : config.norm_kind == "rms_plus_one" ? "gemma"
                  : has_part                           ? "phi3"
                  : config.qk_norm                     ? "qwen3"
                  : config.attention_bias == "qkv"     ? "qwen2"
                  : config.window_layers != "w"        ? "ministral"
                  : config.sliding_window > 0          ? "mistral"
                                                       : "llama");
}

std::string want_layers(const TransformerOptions& config, const Kind& kind, Requirements& require) {
  const bool is_gemma3 = kind.is("gemma3_text");
  require.keep(layer_fields(kind));
  require.keep("n_kv_heads embedding_scale");
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
  if (kind.is("phi3"))
    require.want_usual_heads();
  else
    require.keep("d_head");
  if (is_gemma3 || kind.is("llama")) require.want_multiple_of_heads();
  if (is_gemma3)
    require.keep("score_width");
  else
    require.want("score_width", {0, config.head_width()});
  if (kind.has_window()) require.keep("sliding_window");
  if (kind.has_layer_types()) require.keep("window_layers");
  if (kind.is_gemma()) require.want("embedding_scale=sqrt_d activation=gelu_tanh|silu|relu");
  return require.word(
      "activation",
      {{"silu", "silu"}, {"gelu", "gelu"}, {"gelu_tanh", "gelu_pytorch_tanh"}, {"relu", "relu"}});
}

std::string class_name(const Kind& kind) {
  std::string name = kind.name;
  std::erase_if(name, [](char c) { return c == '-' || c == ' '; });
  return name;
}

void state_layers(DecoderOnlyConfig config, const Kind& kind, const std::string& activation, bool both_ways,
                  Json& out) {
  const bool is_gemma3 = kind.is("gemma3_text");
  out["model_type"] = kind.model_type;
  out["num_key_value_heads"] = config.key_heads();
  out[kind.activation()] = activation;
  if (kind.is("phi3")) {
    out["resid_pdrop"] = config.dropout;
    state_embedding_dropout(config, "embd_pdrop", out);
  } else {
    out["head_dim"] = config.head_width();
  }
  state_same(stack_fields(kind), fields_of(config), out);
  state_same(layer_fields(kind), fields_of(config), out);
  state_rotary(kind.rotary, config, out);
  if (kind.is("llama")) out["mlp_bias"] = config.feed_forward_bias;
  if (kind.has_biases_by_choice()) out["attention_bias"] = config.attention_bias == "all";
  if (is_gemma3)
    out["query_pre_attn_scalar"] = config.score_width > 0 ? config.score_width : config.head_width();
  const bool has_window = config.sliding_window > 0;
  if (kind.has_one_window()) out["sliding_window"] = has_window ? Json(config.sliding_window) : Json();
  if (is_gemma3 || (kind.has_layer_types() && has_window)) {
    const std::int64_t window = both_ways ? 2 * (config.sliding_window - 1) : config.sliding_window;
    out["sliding_window"] = has_window ? window : config.max_length;  // one without any effect
    state_layer_types(config, config.n_decoder_layers, out);
    if (kind.is_qwen()) out["use_sliding_window"] = true;
  }
}

}  // namespace heed::foreign::llama
