// GPT-2 (Radford et al. 2019) in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/gpt2. Its linear layers ("Conv1D") are [in, out] as here; queries, keys and values
// are one layer, side by side.
#include "base/error.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/foreign/families.h"
#include "models/model_file.h"

namespace heed::foreign {
namespace gpt2 {
namespace {

constexpr const char* kPrefix = "transformer.";
constexpr const char* kTable = "transformer.wte.weight";

const std::vector<SameField> kSame{{"vocab_size", "target_vocab_size", 50257},
                                   {"n_positions", "max_length", 1024},
                                   {"n_embd", "d_model", 768},
                                   {"n_layer", "n_decoder_layers", 12},
                                   {"n_head", "n_heads", 12},
                                   {"layer_norm_epsilon", "norm_epsilon", 1e-5},
                                   {"resid_pdrop", "dropout", 0.1},
                                   {"attn_pdrop", "attention_dropout", 0.1}};

bool recognises(const Source& source) {
  return source.model_type() == "gpt2";
}

DecoderOnlyConfig config_of(ConfigFields& fields) {
  DecoderOnlyConfig config;
  read_same(kSame, fields, fields_of(config));
  config.d_ff = fields.number("n_inner", 4 * config.d_model);
  config.activation = fields.choice("activation_function", "gelu_new", kActivations);
  config.embedding_scale = "1";
  config.embedding_dropout = fields.real("embd_pdrop", 0.1);
  if (config.embedding_dropout < 0) fields.refuse("embd_pdrop", "at least 0");
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
  map.same(kTable, {config.target_vocab_size, d}, "decoder/embedding/weight");
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
    map.transposed(kWordScores, {config.target_vocab_size, d}, "decoder/output/weight");
  else
    map.copy(kWordScores, kTable);
  map.ignore("*h.*.attn.bias", "the causal mask");
  map.ignore("*h.*.attn.masked_bias", "the causal mask");
  return map;
}

ForeignModel describe(const Source& source) {
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  const DecoderOnlyConfig config = config_of(fields);
  ForeignModel found = finish_decoder(source, fields, config, {50256, 50256}, {kTable, kPrefix}, mappings_of);
  found.kind = "GPT-2";
  found.formulas = {{"activation", config.activation}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != DecoderOnlyConfig::kArchitecture) return std::nullopt;
  DecoderOnlyConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  Requirements require(config, reasons);
  require.keep(kSame);
  require.keep("d_ff score_scale embedding_scale tied");
  require.want("positions=learned norm=pre final_norm=by_norm|yes");
  require.want_usual_heads();
  require.want_own_keys();
  const std::string activation = require.word("activation", kExportedActivations);
  if (!require.are_met()) return std::nullopt;
  Exported out;
  out.config = {{"architectures", {"GPT2LMHeadModel"}},
                {"model_type", "gpt2"},
                {"n_inner", config.d_ff},
                {"activation_function", activation},
                {"scale_attn_weights", config.score_scale != "1"}};
  state_same(kSame, fields_of(config), out.config);
  state_embedding_dropout(config, "embd_pdrop", out.config);
  finish_decoder(loaded, config, {kTable, kPrefix}, mappings_of, out);
  return out;
}

}  // namespace
}  // namespace gpt2

const Family kGpt2{"gpt2", gpt2::recognises, gpt2::describe, gpt2::express};

}  // namespace heed::foreign
