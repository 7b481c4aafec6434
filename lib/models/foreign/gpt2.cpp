// GPT-2 (Radford et al. 2019) in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/gpt2. Its linear layers ("Conv1D") are [in, out] as here; queries, keys and values
// are one layer, side by side.
#include "base/error.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace gpt2 {
namespace {

constexpr const char* kPrefix = "transformer.";

bool recognises(const Source& source) {
  return source.model_type() == "gpt2";
}

DecoderOnlyConfig config_of(ConfigFields& fields) {
  DecoderOnlyConfig config;
  config.target_vocab_size = fields.number("vocab_size", 50257);
  config.max_length = fields.number("n_positions", 1024);
  config.d_model = fields.number("n_embd", 768);
  config.n_decoder_layers = fields.number("n_layer", 12);
  config.n_heads = fields.number("n_head", 12);
  config.d_ff = fields.number("n_inner", 4 * config.d_model);
  config.activation = fields.choice("activation_function", "gelu_new", kActivations);
  config.norm_epsilon = fields.real("layer_norm_epsilon", 1e-5);
  config.embedding_scale = "1";
  config.dropout = fields.real("resid_pdrop", 0.1);
  config.embedding_dropout = fields.real("embd_pdrop", 0.1);
  config.attention_dropout = fields.real("attn_pdrop", 0.1);
  if (!fields.flag("scale_attn_weights", true)) config.score_scale = "1";
  fields.expect("scale_attn_by_inverse_layer_idx", {false});
  fields.expect("add_cross_attention", {false});
  fields.expect("is_decoder", {false, true});
  fields.expect("n_ctx", {config.max_length});  // of old files
  fields.without_effect(
      "reorder_and_upcast_attn summary_type summary_use_proj summary_activation summary_proj_to_labels "
      "summary_first_dropout tie_word_embeddings tie_encoder_decoder cross_attention_hidden_size "
      "embd_pdrop");
  return config;
}

Mappings mappings_of(const DecoderOnlyConfig& config) {
  Mappings map;
  map.optional_prefix(kPrefix);
  const std::string root = kPrefix;
  const std::int64_t d = config.d_model, d_ff = config.d_ff;
  // Conv1D
  const auto linear = [&](const std::string& name, const std::string& scope, std::int64_t d_in,
                          std::int64_t d_out) {
    map.same(name + ".weight", {d_in, d_out}, scope + "/weight");
    map.same(name + ".bias", {d_out}, scope + "/bias");
  };
  map.same(root + "wte.weight", {config.target_vocab_size, d}, "decoder/embedding/weight");
  map.same(root + "wpe.weight", {config.max_length, d}, "decoder/positions/weight");
  for (std::int64_t i = 0; i < config.n_decoder_layers; ++i) {
    const std::string theirs = concat(root, "h.", i, '.'), ours = concat("decoder/layer_", i, '/');
    map.norm(theirs + "ln_1", ours + "self_attention_norm", d);
    for (std::int64_t part = 0; part < 3; ++part) {
      const char* names[] = {"query", "key", "value"};
      const std::string scope = ours + "self_attention/" + names[part];
      const std::vector<Slice> slices{{part * d, (part + 1) * d}};
      map.add({theirs + "attn.c_attn.weight", {d, 3 * d}, scope + "/weight", false, 1, slices});
      map.add({theirs + "attn.c_attn.bias", {3 * d}, scope + "/bias", false, 1, slices});
    }
    linear(theirs + "attn.c_proj", ours + "self_attention/output", d, d);
    map.norm(theirs + "ln_2", ours + "feed_forward_norm", d);
    linear(theirs + "mlp.c_fc", ours + "feed_forward/inner", d, d_ff);
    linear(theirs + "mlp.c_proj", ours + "feed_forward/outer", d_ff, d);
  }
  map.norm(root + "ln_f", "decoder/final_norm", d);
  if (config.tied == "none")
    map.transposed("lm_head.weight", {config.target_vocab_size, d}, "decoder/output/weight");
  else
    map.copy("lm_head.weight", root + "wte.weight");
  map.ignore("*h.*.attn.bias", "the causal mask");
  map.ignore("*h.*.attn.masked_bias", "the causal mask");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  DecoderOnlyConfig config = config_of(fields);
  ForeignModel found;
  const SpecialIds special = decoder_ids(fields, 50256, 50256);
  if (const std::string ends =
          more_ends_of(source, fields, special.eos, config.target_vocab_size, found.notes);
      !ends.empty()) {
    found.search = SearchSettings{};
    found.search->more_ends = ends;
  }
  fields.finish();
  check_config(config);
  found.kind = "GPT-2";
  if (!source.tied("lm_head.weight", concat(kPrefix, "wte.weight"), kPrefix)) {
    config.tied = "none";
    found.notes.push_back("lm_head.weight differs from wte.weight: they are not tied");
  }
  found.config_json = to_json(config);
  found.mappings = mappings_of(config);
  found.target = tokenizer_of(source, config.target_vocab_size, special, found.notes);
  found.formulas = {{"activation", config.activation}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return std::nullopt;
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  Requirements require(reasons);
  require.want<std::string>("positions", config.positions, {"learned"});
  require.want<std::string>("norm", config.norm, {"pre"});
  require.want_classic_layers(config);
  require.want<std::string>("final_norm", config.final_norm, {"by_norm", "yes"});
  require.want("embedding_norm", config.embedding_norm, {false});
  require.want("output_bias", config.output_bias, {false});
  require.want<std::int64_t>("position_offset", config.position_offset, {0});
  const std::string activation = require.word("activation", config.activation, kExportedActivations);
  if (!reasons.empty()) return std::nullopt;
  Exported out;
  const bool is_tied = untie_scaled(config, "transformer.wte.weight", out);
  out.mappings = mappings_of(config);
  if (!is_tied && config.tied == "decoder")
    out.mappings.same("lm_head.weight", {config.target_vocab_size, config.d_model},
                      "decoder/embedding/weight");
  out.config = {{"architectures", {"GPT2LMHeadModel"}},
                {"model_type", "gpt2"},
                {"vocab_size", config.target_vocab_size},
                {"n_positions", config.max_length},
                {"n_embd", config.d_model},
                {"n_layer", config.n_decoder_layers},
                {"n_head", config.n_heads},
                {"n_inner", config.d_ff},
                {"activation_function", activation},
                {"layer_norm_epsilon", config.norm_epsilon},
                {"resid_pdrop", config.dropout},
                {"embd_pdrop", config.embedding_dropout < 0 ? config.dropout : config.embedding_dropout},
                {"attn_pdrop", config.attention_dropout},
                {"scale_attn_weights", config.score_scale != "1"},
                {"tie_word_embeddings", is_tied}};
  state_decoder_ids(loaded.target.special(), out.config);
  state_ends(search_settings_of(loaded.origin).value_or(SearchSettings{}), loaded.target.special().eos,
             out.config);
  return out;
}

}  // namespace
}  // namespace gpt2

const Family kGpt2{"gpt2", gpt2::recognises, gpt2::describe, gpt2::express};

}  // namespace heed::foreign
