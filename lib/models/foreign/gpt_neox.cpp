// Decoders alone with LayerNorm and a feed-forward network without a gate: GPT-NeoX (Black et al. 2022;
// Pythia: Biderman et al. 2023), Phi-1 and 2 (Gunasekar et al. 2023), StarCoder2 (Lozhkov et al. 2024), OPT
// (Zhang et al. 2022). In transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/{gpt_neox,phi,starcoder2,opt}. GPT-NeoX and Phi run attention and feed-forward
// network in parallel and rotate a part of each head. Queries, keys and values of GPT-NeoX are one layer, head
// by head.
#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/foreign/rotary.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace gpt_neox {
namespace {

/// The names of a layer's tensors, behind the layer's number.
struct LayerNames {
  const char* attention_norm = "input_layernorm";
  const char* feed_forward_norm = "post_attention_layernorm";  ///< null: attention_norm is for both
  const char* attention = "self_attn.";
  const char *query = "q_proj", *key = "k_proj",
             *value = "v_proj";  ///< query null: all three are `attention`
  const char *output, *inner, *outer;
};

/// A member of the family: its names, and settings that the config does not state. The defaults are what most
/// have.
struct Kind {
  const char *model_type, *name, *class_name;
  const char *prefix = "model.", *stack = "" /* behind the prefix */, *table = "embed_tokens", *final_norm;
  const char* scores = kWordScores;
  LayerNames layer;
  const char *d_ff_field = "intermediate_size", *activation_field = "hidden_act";
  const char* epsilon_field = "layer_norm_eps";                   ///< null: 1e-5, always
  const char *dropout_field, *embedding_dropout_field = nullptr;  ///< the second null: as the first, in OPT 0
  std::int64_t vocab_size, d_model, d_ff, n_layers, n_heads, max_length = 2048;
  const char* activation;
  double dropout = 0;
  bool tied = false;
  DefaultIds ids;
  RotarySettingsOf rotary = {};
};

constexpr Kind kKinds[] = {
    {.model_type = "gpt_neox",
     .name = "GPT-NeoX",
     .class_name = "GPTNeoXForCausalLM",
     .prefix = "gpt_neox.",
     .table = "embed_in",
     .final_norm = "final_layer_norm",
     .scores = "embed_out.weight",
     .layer = {.attention = "attention.query_key_value",
               .query = nullptr,
               .output = "attention.dense",
               .inner = "mlp.dense_h_to_4h",
               .outer = "mlp.dense_4h_to_h"},
     .dropout_field = "hidden_dropout",
     .vocab_size = 50432,
     .d_model = 6144,
     .d_ff = 24576,
     .n_layers = 44,
     .n_heads = 64,
     .activation = "gelu",
     .ids = {0, 2},
     .rotary = {"rotary_emb_base", "rotary_pct", 0.25}},
    {.model_type = "phi",
     .name = "Phi",
     .class_name = "PhiForCausalLM",
     .final_norm = "final_layernorm",
     .layer =
         {.feed_forward_norm = nullptr, .output = "self_attn.dense", .inner = "mlp.fc1", .outer = "mlp.fc2"},
     .dropout_field = "resid_pdrop",
     .embedding_dropout_field = "embd_pdrop",
     .vocab_size = 51200,
     .d_model = 2048,
     .d_ff = 8192,
     .n_layers = 24,
     .n_heads = 32,
     .activation = "gelu_new",
     .ids = {1, 2},
     .rotary = {"rope_theta", "partial_rotary_factor", 0.5}},
    {.model_type = "starcoder2",
     .name = "StarCoder2",
     .class_name = "Starcoder2ForCausalLM",
     .final_norm = "norm",
     .layer = {.output = "self_attn.o_proj", .inner = "mlp.c_fc", .outer = "mlp.c_proj"},
     .epsilon_field = "norm_epsilon",
     .dropout_field = "residual_dropout",
     .embedding_dropout_field = "embedding_dropout",
     .vocab_size = 49152,
     .d_model = 3072,
     .d_ff = 12288,
     .n_layers = 30,
     .n_heads = 24,
     .max_length = 4096,
     .activation = "gelu_pytorch_tanh",
     .tied = true,
     .ids = {50256, 50256}},
    {.model_type = "opt",
     .name = "OPT",
     .class_name = "OPTForCausalLM",
     .stack = "decoder.",
     .final_norm = "final_layer_norm",
     .layer = {.attention_norm = "self_attn_layer_norm",
               .feed_forward_norm = "final_layer_norm",
               .output = "self_attn.out_proj",
               .inner = "fc1",
               .outer = "fc2"},
     .d_ff_field = "ffn_dim",
     .activation_field = "activation_function",
     .epsilon_field = nullptr,
     .dropout_field = "dropout",
     .vocab_size = 50272,
     .d_model = 768,
     .d_ff = 3072,
     .n_layers = 12,
     .n_heads = 12,
     .activation = "relu",
     .dropout = 0.1,
     .tied = true,
     .ids = {2, 2, 1}},
};

constexpr std::size_t kNeoX = 0, kPhi = 1, kStarCoder = 2, kOpt = 3;

/// The offset of OPT's position table.
constexpr std::int64_t kOptOffset = 2;

/// Heads of all layers whose rows are listed one by one: more than any model has. Wrong settings must cost an
/// error, not memory.
constexpr std::int64_t kMostFusedHeads = 1'000'000;

const Kind* kind_of(const std::string& model_type) {
  const auto found = std::ranges::find(kKinds, model_type, &Kind::model_type);
  return found == std::end(kKinds) ? nullptr : &*found;
}

std::vector<SameField> same_fields(const Kind& kind) {
  std::vector<SameField> same{{"vocab_size", "target_vocab_size", kind.vocab_size},
                              {"hidden_size", "d_model", kind.d_model},
                              {kind.d_ff_field, "d_ff", kind.d_ff},
                              {"num_hidden_layers", "n_decoder_layers", kind.n_layers},
                              {"num_attention_heads", "n_heads", kind.n_heads},
                              {"max_position_embeddings", "max_length", kind.max_length},
                              {"attention_dropout", "attention_dropout", 0},
                              {kind.dropout_field, "dropout", kind.dropout}};
  if (kind.epsilon_field) same.push_back({kind.epsilon_field, "norm_epsilon", 1e-5});
  return same;
}

bool recognises(const Source& source) {
  return kind_of(source.model_type()) != nullptr;
}

void read_biases(ConfigFields& fields, const char* field, DecoderOnlyConfig& config) {
  config.attention_bias = fields.flag(field, true) ? "all" : "none";
}

void read_key_heads(ConfigFields& fields, std::int64_t otherwise, DecoderOnlyConfig& config) {
  config.n_kv_heads = fields.number("num_key_value_heads", otherwise);
  if (config.n_kv_heads == config.n_heads) config.n_kv_heads = 0;
}

DecoderOnlyConfig config_of(ConfigFields& fields, const Kind& kind) {
  DecoderOnlyConfig config;
  read_same(same_fields(kind), fields, fields_of(config));
  config.activation = fields.choice(kind.activation_field, kind.activation, kActivations);
  if (kind.embedding_dropout_field) read_embedding_dropout(fields, kind.embedding_dropout_field, config);
  config.embedding_scale = "1";
  config.tied = fields.flag("tie_word_embeddings", kind.tied) ? "decoder" : "none";
  if (&kind != &kKinds[kOpt]) read_rotary(kind.rotary, fields, config);
  if (&kind == &kKinds[kNeoX]) {
    config.parallel_residual = fields.flag("use_parallel_residual", true) ? "two_norms" : "no";
    read_biases(fields, "attention_bias", config);
    // The same again in some older files.
    fields.expect("rope_theta", {config.rope_base});
    fields.expect("partial_rotary_factor", {fields.real("rotary_pct", kind.rotary.usual_share)});
    fields.expect("is_decoder", {false, true});
    fields.without_effect("classifier_dropout");
    if (config.n_heads * config.n_decoder_layers > kMostFusedHeads)
      fields.refuse(concat("num_attention_heads is ", config.n_heads, " and num_hidden_layers ",
                           config.n_decoder_layers, ", wanted at most ", kMostFusedHeads, " heads in all"));
  } else if (&kind == &kKinds[kPhi]) {
    config.parallel_residual = "one_norm";
    config.output_bias = true;
    read_key_heads(fields, config.n_heads, config);
    fields.expect("qk_layernorm", {false});
  } else if (&kind == &kKinds[kStarCoder]) {
    read_biases(fields, "use_bias", config);
    config.feed_forward_bias = config.attention_bias == "all";
    read_key_heads(fields, 2, config);
    config.sliding_window = fields.number("sliding_window", 0);
    if (config.sliding_window >= config.max_length) config.sliding_window = 0;
    // Of its training program; transformers does not read them.
    fields.expect("norm_type", {"layer_norm"});
    fields.expect("mlp_type", {"default"});
    fields.expect("scale_attn_weights", {true});
    fields.without_effect(
        "activation_function layer_norm_epsilon attention_softmax_in_fp32 scale_attention_softmax_in_fp32");
  } else {
    config.positions = "learned";
    config.position_offset = kOptOffset;
    config.embedding_dropout = 0;  // its code has none there
    read_biases(fields, "enable_bias", config);
    config.feed_forward_bias = config.attention_bias == "all";
    fields.expect("do_layer_norm_before", {true});
    fields.expect("_remove_final_layer_norm", {false});
    fields.expect("layer_norm_elementwise_affine", {true});
    fields.expect("word_embed_proj_dim", {config.d_model});
    config.activation_dropout = fields.real("activation_dropout", 0);  // of old files
    fields.without_effect("layerdrop init_std");
  }
  return config;
}

/// Of one head after the other, its queries, its keys and its values, d_head rows each.
void add_fused(Mappings& map, const std::string& theirs, const std::string& ours,
               const DecoderOnlyConfig& config) {
  const std::int64_t d = config.d_model, d_head = d / config.n_heads;
  for (std::int64_t part = 0; part < 3; ++part) {
    const char* names[] = {"query", "key", "value"};
    const std::string scope = ours + names[part];
    std::vector<Slice> slices;
    for (std::int64_t head = 0; head < config.n_heads; ++head) {
      const std::int64_t first = (3 * head + part) * d_head;
      slices.push_back({first, first + d_head});
    }
    map.add({theirs + ".weight", {3 * d, d}, scope + "/weight", true, 0, slices});
    if (config.attention_bias == "all")
      map.add({theirs + ".bias", {3 * d}, scope + "/bias", false, 1, slices});
  }
}

DecoderNames names_of(const Kind& kind) {
  return {concat(kind.prefix, kind.stack, kind.table, ".weight"), kind.prefix, kind.scores};
}

template <std::size_t index>
Mappings mappings_of(const DecoderOnlyConfig& config) {
  const Kind& kind = kKinds[index];
  const LayerNames& names = kind.layer;
  const std::string root = concat(kind.prefix, kind.stack), table = names_of(kind).table;
  Mappings map;
  map.optional_prefix(kind.prefix);
  const std::int64_t d = config.d_model, d_ff = config.d_ff, keys = config.head_width() * config.key_heads();
  const bool biases = config.attention_bias == "all", ff_bias = config.feed_forward_bias;
  map.same(table, {config.target_vocab_size, d}, "decoder/embedding/weight");
  if (config.positions == "learned")
    map.same(root + "embed_positions.weight", {config.position_offset + config.max_length, d},
             "decoder/positions/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat(root, "layers.", i, '.'), ours = concat("decoder/layer_", i, '/');
    const std::string attention = ours + "self_attention/", network = ours + "feed_forward/";
    map.norm(theirs + names.attention_norm, ours + "self_attention_norm", d);
    if (names.query) {
      map.linear(theirs + names.attention + names.query, attention + "query", d, d, biases);
      map.linear(theirs + names.attention + names.key, attention + "key", d, keys, biases);
      map.linear(theirs + names.attention + names.value, attention + "value", d, keys, biases);
    } else {
      add_fused(map, theirs + names.attention, attention, config);
    }
    map.linear(theirs + names.output, attention + "output", d, d, biases);
    if (names.feed_forward_norm) map.norm(theirs + names.feed_forward_norm, ours + "feed_forward_norm", d);
    map.linear(theirs + names.inner, network + "inner", d, d_ff, ff_bias);
    map.linear(theirs + names.outer, network + "outer", d_ff, d, ff_bias);
  }
  map.norm(root + kind.final_norm, "decoder/final_norm", d);
  if (config.tied == "none")
    map.transposed(kind.scores, {config.target_vocab_size, d}, "decoder/output/weight");
  else
    map.copy(kind.scores, table);
  if (config.output_bias) map.same("lm_head.bias", {config.target_vocab_size}, "decoder/output/bias");
  map.ignore("*layers.*.rotary_emb.inv_freq", "computed from the settings");
  map.ignore("*layers.*.attention.bias", "the causal mask");
  map.ignore("*layers.*.attention.masked_bias", "the causal mask");
  return map;
}

constexpr MakeMappings kMappings[] = {mappings_of<kNeoX>, mappings_of<kPhi>, mappings_of<kStarCoder>,
                                      mappings_of<kOpt>};

ForeignModel describe(const Source& source) {
  const Kind& kind = *kind_of(source.model_type());
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  const DecoderOnlyConfig config = config_of(fields, kind);
  ForeignModel found =
      finish_decoder(source, fields, config, kind.ids, names_of(kind), kMappings[&kind - kKinds]);
  found.kind = kind.name;
  if (config.positions == "rotary") found.formulas = {{"positions", rotary_formula(config)}};
  found.formulas.emplace_back("activation", config.activation);
  found.formulas.emplace_back("norm_epsilon", concat(config.norm_epsilon));
  return found;
}

std::size_t index_for(const DecoderOnlyConfig& config) {
  if (config.positions == "learned") return kOpt;
  if (config.parallel_residual == "one_norm") return kPhi;
  const bool as_starcoder = config.n_kv_heads > 0 || config.sliding_window > 0 || !config.feed_forward_bias;
  return config.parallel_residual == "no" && as_starcoder ? kStarCoder : kNeoX;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return std::nullopt;
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const std::size_t index = index_for(config);
  const Kind& kind = kKinds[index];
  Requirements require(config, reasons);
  require.keep(same_fields(kind));
  require.keep("embedding_scale tied");
  require.want("norm=pre final_norm=by_norm|yes");
  if (index == kOpt) {
    require.want("positions=learned");
    require.want("position_offset", {kOptOffset});
  } else {
    want_rotary(kind.rotary, config, require);
  }
  require.want_usual_heads();
  if (index == kPhi || index == kStarCoder)
    require.keep("n_kv_heads");
  else
    require.want_own_keys();
  if (index == kPhi)
    require.want("parallel_residual=one_norm output_bias=true");
  else
    require.want("attention_bias=all|none");
  if (index == kNeoX) require.want("parallel_residual=no|two_norms");
  if (index == kStarCoder) require.keep("sliding_window");
  if (index == kStarCoder || index == kOpt)
    require.want("feed_forward_bias", {config.attention_bias == "all"});
  const std::string activation = require.word("activation", kExportedActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.config = {{"architectures", {kind.class_name}},
                {"model_type", kind.model_type},
                {kind.activation_field, activation}};
  state_same(same_fields(kind), fields_of(config), out.config);
  if (kind.embedding_dropout_field) state_embedding_dropout(config, kind.embedding_dropout_field, out.config);
  if (index != kOpt) state_rotary(kind.rotary, config, out.config);
  if (index == kNeoX) {
    out.config["use_parallel_residual"] = config.parallel_residual != "no";
    out.config["attention_bias"] = config.attention_bias == "all";
  }
  if (index == kPhi || index == kStarCoder) out.config["num_key_value_heads"] = config.key_heads();
  if (index == kStarCoder) {
    out.config["use_bias"] = config.feed_forward_bias;
    out.config["sliding_window"] = config.sliding_window > 0 ? Json(config.sliding_window) : Json();
  }
  if (index == kOpt) out.config["enable_bias"] = config.feed_forward_bias;
  finish_decoder(loaded, config, names_of(kind), kMappings[index], out);
  return out;
}

}  // namespace
}  // namespace gpt_neox

const Family kGptNeoX{"gpt_neox, phi, starcoder2, opt", gpt_neox::recognises, gpt_neox::describe,
                      gpt_neox::express};

}  // namespace heed::foreign
