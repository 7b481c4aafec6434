// Sockeye 3 (Hieber et al. 2022, https://github.com/awslabs/sockeye): a folder with its settings in YAML,
// `config`, PyTorch weights, `params.best`, and vocab.src.0.json and vocab.trg.0.json. Embeddings times
// sqrt(d), sinusoids in halves or learned positions, an epsilon of 1e-6, attention without biases; in a gated
// network ff1 is the gate. The matrix for keys and values has d_head rows of keys of head 0, then its values,
// then those of head 1, and so on.
#include <algorithm>
#include <array>
#include <fstream>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/yaml_config.h"
#include "models/transformer.h"
#include "text/foreign_sentencepiece.h"

namespace heed::foreign {
namespace sockeye {
namespace {

constexpr const char* kSettings = "config";
constexpr const char* kSource = "embedding_source.embedding.weight";
constexpr const char* kTarget = "embedding_target.embedding.weight";
constexpr const char* kOutput = "output_layer.weight";
/// In every vocabulary.
constexpr SpecialIds kSpecial{0, 1, 2, 3, -1, -1, -1};

bool recognises(const Source& source) {
  const std::string path = source.model_type().empty() ? source.file(kSettings) : "";
  std::array<char, 12> begin{};
  return !path.empty() && std::ifstream(path, std::ios::binary).read(begin.data(), begin.size()) &&
         std::string_view(begin.data(), begin.size()) == "!ModelConfig";
}

/// The settings of a stack, which must be the same for both except for the numbers of layers and inner
/// widths.
struct Stack {
  std::int64_t n_layers = 0, d_ff = 0, source_length = 0, target_length = 0;
  std::string past;   ///< of the decoder, though both state it
  std::string shape;  ///< all else that counts, for comparison
};

Stack read_stack(ConfigFields& fields, TransformerConfig& config) {
  Stack stack;
  config.d_model = fields.number("model_size");
  config.n_heads = fields.number("attention_heads");
  stack.n_layers = fields.number("num_layers");
  stack.d_ff = fields.number("feed_forward_num_hidden");
  stack.source_length = fields.number("max_seq_len_source");
  stack.target_length = fields.number("max_seq_len_target");
  config.activation =
      fields.choice("act_type", "relu", {{"relu", "relu"}, {"swish1", "silu"}, {"gelu", "gelu"}});
  config.gated = fields.flag("use_glu", false);
  config.positions = fields.choice("positional_embedding_type", "fixed",
                                   {{"fixed", "sinusoidal_halves"}, {"learned", "learned"}});
  // Letters of a list of operations: n norm, d dropout, r residual.
  const std::string before = fields.choice("preprocess_sequence", "n",
                                           {{"n", "n"}, {"nd", "n"}, {"", ""}, {"d", ""}}),
                    after = fields.choice("postprocess_sequence", "dr",
                                          {{"dr", ""}, {"r", ""}, {"drn", "n"}, {"rn", "n"}});
  if (before == after)
    fields.refuse("preprocess_sequence", "a norm (n) either there or in postprocess_sequence");
  config.norm = before == "n" ? "pre" : "post";
  config.dropout = fields.real("dropout_prepost", 0.1);
  config.attention_dropout = fields.real("dropout_attention", 0.1);
  config.activation_dropout = fields.real("dropout_act", 0.1);
  stack.past = fields.choice("decoder_type", "transformer",
                             {{"transformer", "attention"}, {"ssru_transformer", "ssru"}});
  fields.expect("use_lhuc", {false});
  fields.expect("depth_key_value", {0, config.d_model});
  fields.without_effect("block_prepended_cross_attention");  // of texts with a prefix that is marked as one
  stack.shape = concat(config.d_model, ' ', config.n_heads, ' ', config.activation, ' ', config.gated, ' ',
                       config.positions, ' ', config.norm);
  return stack;
}

/// The width of a side's embeddings; refuses factors.
void check_embedding(ConfigFields& fields, const char* name, std::int64_t rows, std::int64_t d) {
  ConfigFields embedding = fields.object(name);
  embedding.expect("vocab_size", {rows});
  embedding.expect("num_embed", {d});
  embedding.expect("num_factors", {1});
  embedding.expect("factor_configs", {});
  embedding.without_effect("dropout allow_sparse_grad");
  fields.merge(embedding);
}

TransformerConfig config_of(ConfigFields& fields, std::vector<std::string>& notes) {
  TransformerConfig config;
  ConfigFields of_encoder = fields.object("config_encoder"), of_decoder = fields.object("config_decoder");
  const Stack encoder = read_stack(of_encoder, config), decoder = read_stack(of_decoder, config);
  if (encoder.past == "ssru" && decoder.past != "ssru")
    of_encoder.refuse("decoder_type", "transformer, as in config_decoder");
  fields.merge(of_encoder);
  fields.merge(of_decoder);
  if (encoder.shape != decoder.shape)
    fields.refuse("config_encoder and config_decoder differ in more than layers and feed_forward_num_hidden");
  config.n_encoder_layers = encoder.n_layers;
  config.n_decoder_layers = decoder.n_layers;
  config.d_ff = encoder.d_ff;
  config.decoder_past = decoder.past;
  config.decoder_d_ff = decoder.d_ff == encoder.d_ff ? 0 : decoder.d_ff;
  config.max_length = std::max(encoder.source_length, decoder.target_length);
  if (encoder.source_length != decoder.target_length) {
    if (config.positions == "learned")
      fields.refuse(
          "max_seq_len_source and max_seq_len_target differ: tables of positions of one length were wanted");
    notes.push_back(concat("its own program reads at most ", encoder.source_length,
                           " tokens and numbers at most ", decoder.target_length,
                           " that it writes; here both are ", config.max_length));
  }
  config.norm_epsilon = 1e-6;
  config.attention_bias = "none";
  config.output_bias = true;
  config.source_vocab_size = fields.number("vocab_source_size");
  config.target_vocab_size = fields.number("vocab_target_size");
  check_embedding(fields, "config_embed_source", config.source_vocab_size, config.d_model);
  check_embedding(fields, "config_embed_target", config.target_vocab_size, config.d_model);
  config.tied = fields.choice(
      "weight_tying_type", "src_trg_softmax",
      {{"src_trg_softmax", "all"}, {"trg_softmax", "decoder"}, {"src_trg", "none"}, {"none", "none"}});
  ConfigFields data = fields.object("config_data");
  data.expect("num_source_factors", {1});
  data.expect("num_target_factors", {1});
  data.without_effect("data_statistics max_seq_len_source max_seq_len_target eop_id");
  fields.merge(data);
  fields.expect("dtype", {"float32", "float16", "bfloat16"});
  fields.expect("lhuc", {false});
  fields.expect("neural_vocab_selection", {});
  // The length task only limits the search.
  fields.without_effect("config_length_task neural_vocab_selection_block_loss");
  return config;
}

Mappings mappings_of(const TransformerConfig& config) {
  Mappings map;
  const std::int64_t d = config.d_model, d_head = d / config.n_heads;
  if (config.tied == "all") {
    map.same(kSource, {config.source_vocab_size, d}, "embedding/weight");
    map.copy(kTarget, kSource);
    map.copy(kOutput, kSource);
  } else {
    map.same(kSource, {config.source_vocab_size, d}, "encoder/embedding/weight");
    map.same(kTarget, {config.target_vocab_size, d}, "decoder/embedding/weight");
    if (config.tied == "decoder")
      map.copy(kOutput, kTarget);
    else
      map.transposed(kOutput, {config.target_vocab_size, d}, "decoder/output/weight");
  }
  map.same("output_layer.bias", {config.target_vocab_size}, "decoder/output/bias");
  const auto keys_and_values = [&](const std::string& theirs, std::int64_t rows, std::int64_t first,
                                   const std::string& ours) {
    for (const auto& [part, offset] : {std::pair("/key", std::int64_t{0}), {"/value", d_head}}) {
      Mapping mapping{theirs, {rows, d}, concat(ours, part, "/weight"), true, 0, {}};
      for (std::int64_t head = 0; head < config.n_heads; ++head) {
        const std::int64_t begin = first + 2 * head * d_head + offset;
        mapping.slices.push_back({begin, begin + d_head});
      }
      map.add(std::move(mapping));
    }
  };
  const bool pre = config.norm == "pre";
  const auto norm = [&](const std::string& layer, const char* theirs, const std::string& ours) {
    map.norm(concat(layer, pre ? "pre_" : "post_", theirs, ".layer_norm"), ours + "_norm", d);
  };
  const auto self_attention = [&](const std::string& layer, const char* theirs, const std::string& ours) {
    const std::string matrix = concat(layer, theirs, ".ff_in.weight");
    map.add({matrix, {3 * d, d}, ours + "/query/weight", true, 0, {{0, d}}});
    keys_and_values(matrix, 3 * d, d, ours);
    map.linear(concat(layer, theirs, ".ff_out"), ours + "/output", d, d, false);
    norm(layer, theirs, ours);
  };
  const auto recurrence = [&](const std::string& layer, const std::string& ours) {
    map.linear(layer + "autoregr_layer.forget_gate", ours + "/forget", d, d);
    map.linear(layer + "autoregr_layer.linear", ours + "/candidate", d, d, false);
    norm(layer, "autoregr_layer", ours);
  };
  const auto stack = [&](const std::string& name, std::int64_t n_layers, std::int64_t d_ff) {
    if (config.positions == "learned")
      map.same(name + ".pos_embedding.weight", {config.max_length, d}, name + "/positions/weight");
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string theirs = concat(name, ".layers.", i, '.'), ours = concat(name, "/layer_", i, '/');
      if (name == "decoder" && config.decoder_past == "ssru")
        recurrence(theirs, ours + "recurrence");
      else
        self_attention(theirs, name == "encoder" ? "self_attention" : "autoregr_layer",
                       ours + "self_attention");
      if (name == "decoder") {
        const std::string cross = ours + "cross_attention";
        map.linear(theirs + "enc_attention.ff_q", cross + "/query", d, d, false);
        keys_and_values(theirs + "enc_attention.ff_kv.weight", 2 * d, 0, cross);
        map.linear(theirs + "enc_attention.ff_out", cross + "/output", d, d, false);
        norm(theirs, "enc_attention", cross);
      }
      map.linear(theirs + "ff.ff1", concat(ours, "feed_forward/", config.gated ? "gate" : "inner"), d, d_ff);
      if (config.gated) map.linear(theirs + "ff.linear", ours + "feed_forward/inner", d, d_ff);
      map.linear(theirs + "ff.ff2", ours + "feed_forward/outer", d_ff, d);
      norm(theirs, "ff", ours + "feed_forward");
    }
    if (pre) map.norm(name + ".final_process.layer_norm", name + "/final_norm", d);
  };
  stack("encoder", config.n_encoder_layers, config.d_ff);
  stack("decoder", config.n_decoder_layers, config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff);
  map.ignore("*coder.pos_embedding.weight", "the formula's positions");
  map.ignore("length_ratio.*", "only bounds what is searched");
  map.ignore("*traced*", "a copy that ran faster");
  return map;
}

/// Before pieces are made for the rows: wrong settings must cost an error, not memory.
void check_table(const Source& source, const char* name, const Shape& wanted) {
  const auto index = source.find(name);
  const std::string where = concat(escaped(source.path()), ":/", name);
  if (!index) fail(where, ' ', to_string(wanted), " is missing");
  expect_shape(where, source.weights().arrays()[*index].shape, wanted);
}

text::Tokenizer read_tokenizer(const Source& source, const char* name, std::int64_t rows,
                               std::vector<std::string>& notes) {
  const std::string path = source.file(name);
  if (!path.empty())
    return fitted(source.taken(text::read_marian_tokenizer(path, "")), rows, kSpecial, escaped(path), notes);
  notes.push_back(concat(name, " is missing: its pieces are the ids in digits"));
  if (rows <= kSpecial.eos)
    fail(escaped(source.path()), "/", kSettings, ": ", rows, " rows of words, wanted at least 4");
  return text::Tokenizer::of_ids(rows, kSpecial);
}

/// The file also contains the positions: float32 values must equal the formula's, rounded ones are used as
/// they are if both sides have tables of the same length.
void choose_positions(const Source& source, TransformerConfig& config, std::vector<std::string>& notes) {
  if (config.positions == "learned") return;
  bool is_rounded = false, fits = true;
  for (const char* name : {"encoder.pos_embedding.weight", "decoder.pos_embedding.weight"}) {
    const auto index = source.find(name);
    fits = fits && index;
    if (!index) continue;
    const io::ArrayInfo& table = source.weights().arrays()[*index];
    check_sinusoids(source, name, table.shape.empty() ? 0 : table.shape[0], config.d_model);
    is_rounded = is_rounded || table.type != "float32";
    fits = fits && table.shape[0] == config.max_length;
  }
  if (is_rounded && fits) config.positions = "learned";
  if (is_rounded && !fits)
    notes.push_back(concat("its rounded positions are not ", config.max_length,
                           " on both sides: the formula's stand for them"));
}

ForeignModel describe(const Source& source) {
  const std::string path = source.file(kSettings);
  ConfigFields fields(read_yaml_object(path), escaped(path), source.options().ignored_fields);
  ForeignModel found;
  found.kind = "Sockeye";
  TransformerConfig config = config_of(fields, found.notes);
  fields.finish();
  check_config(config);
  choose_positions(source, config, found.notes);
  found.config_json = to_json(config);
  found.mappings = mappings_of(config);
  for (const auto& [name, rows] :
       {std::pair(kSource, config.source_vocab_size), {kTarget, config.target_vocab_size}})
    check_table(source, name, {rows, config.d_model});
  found.source = read_tokenizer(source, "vocab.src.0.json", config.source_vocab_size, found.notes);
  found.target = read_tokenizer(source, "vocab.trg.0.json", config.target_vocab_size, found.notes);
  found.search = SearchSettings{};  // a beam of 5, scores divided by the length
  found.formulas = {
      {"positions", config.positions}, {"activation", config.activation}, {"norm_epsilon", "1e-6"}};
  return found;
}

}  // namespace
}  // namespace sockeye

const Family kSockeye{"Sockeye", sockeye::recognises, sockeye::describe};

}  // namespace heed::foreign
