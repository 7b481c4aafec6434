// Marian's own models (Junczys-Dowmunt et al. 2018, https://github.com/marian-nmt/marian): an .npz or binary file
// (io/foreign/marian_binary.h) of weights that contains its settings in YAML, special:model.yml; beside it
// decoder.yml, vocabularies and the SentencePiece models for preprocessing. Students as Bergamot and Firefox
// Translations ship them have config.intgemm8bitalpha.yml or the like, or no such file, and vocab.enpt.spm, or
// srcvocab.*.spm and trgvocab.*.spm; their weights are integers with a factor, which here become float32, so that
// products differ from intgemm's by the rounding of its inputs. Differences from the same weights in transformers' format
// (marian.cpp): sinusoids of frequency 10000^(-k/(d/2-1)), an epsilon of 1e-6, a decoder that starts from a
// zero vector, and "gelu", which was x sigmoid(1.702 x) up to version 1.12.0. Layers are counted from 1,
// matrices are [in, out] as here.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/yaml_config.h"
#include "models/model_file.h"
#include "models/transformer.h"
#include "text/foreign_sentencepiece.h"

namespace heed::foreign {
namespace marian_native {
namespace {

constexpr const char* kSettings = "special:model.yml";
constexpr const char* kDecoderFile = "decoder.yml";
/// Of numbers by which Marian multiplies activations before it makes integers of them.
constexpr const char* kActivationFactors = "*_QuantMultA";
/// Of sentences, where decoder.yml does not say it.
constexpr std::int64_t kUsualLength = 1000;

bool recognises(const Source& source) {
  try {
    return source.model_type().empty() && source.has(kSettings);
  } catch (const Error&) {
    return false;  // no weights that can be read
  }
}

/// Bytes up to the zeros at their end.
std::string settings_text(const Source& source, const std::string& where) {
  const std::size_t index = *source.find(kSettings);
  if (const std::int64_t size = element_count(source.weights().arrays()[index].shape);
      std::cmp_greater(size, kMostYamlBytes))
    fail(where, ": ", size, " bytes, wanted at most ", kMostYamlBytes);
  const Tensor stored = source.weights().read(index);
  std::string text;
  with_type(stored.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      for (const T byte : stored.values<T>()) text += static_cast<char>(byte);
  });
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

/// "v1.9.0 ba94c5b9 2020-05-17": whether it is later than 1.12.0.
bool is_after_1_12_0(const std::string& version) {
  std::array<int, 3> numbers{};
  const char *at = version.data(), *end = at + version.size();
  if (version.starts_with('v')) ++at;
  for (int& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    at = next + (next < end && *next == '.');
  }
  return numbers > std::array<int, 3>{1, 12, 0};
}

/// Properties given by shapes rather than settings.
struct Tables {
  std::string source, target, output;  ///< output: empty when it is a table; as Marian names them
  bool output_transposed = false, output_bias = true;
  bool learned_positions = false;
};

std::int64_t rows_of(const Source& source, const std::string& name) {
  const auto index = source.find(name);
  if (!index) return 0;
  const Shape& shape = source.weights().arrays()[*index].shape;
  return shape.empty() ? 0 : shape[0];
}

/// Letters of a list of operations: d dropout, a add, n norm.
bool has_norm(ConfigFields& fields, const char* name, const std::string& otherwise,
              std::initializer_list<Json> supported) {
  fields.expect(name, supported);
  return fields.word(name, otherwise).find('n') != std::string::npos;
}

TransformerConfig config_of(const Source& source, ConfigFields& fields, Tables& tables) {
  TransformerConfig config;
  fields.expect("type", {"transformer"});
  if (!fields.has("type")) fields.refuse("type", "transformer");
  config.d_model = fields.number("dim-emb");
  config.n_heads = fields.number("transformer-heads");
  config.n_encoder_layers = fields.number("enc-depth");
  config.n_decoder_layers = fields.number("dec-depth");
  config.d_ff = fields.number("transformer-dim-ffn");
  config.decoder_d_ff = fields.number("transformer-decoder-dim-ffn", 0);
  if (config.decoder_d_ff == config.d_ff) config.decoder_d_ff = 0;
  const bool late = is_after_1_12_0(fields.word("version", "v1.0.0"));
  config.activation =
      fields.choice("transformer-ffn-activation", "swish",
                    {{"swish", "silu"}, {"relu", "relu"}, {"gelu", late ? "gelu" : "gelu_sigmoid"}});
  const bool pre = has_norm(fields, "transformer-preprocess", "", {"", "d", "n", "nd", "dn"}),
             post = has_norm(fields, "transformer-postprocess", "dan", {"dan", "an", "da", "a"});
  if (pre == post)
    fields.refuse("transformer-preprocess", "a norm (n) either there or in transformer-postprocess");
  config.norm = pre ? "pre" : "post";
  const bool top = has_norm(fields, "transformer-postprocess-top", "", {"", "d", "n", "nd", "dn"});
  config.final_norm = top == pre ? "by_norm" : top ? "yes" : "no";
  config.embedding_norm = has_norm(fields, "transformer-postprocess-emb", "d", {"", "d", "n", "nd", "dn"});
  config.norm_epsilon = 1e-6;
  config.decoder_start = "zero";
  tables.learned_positions = fields.flag("transformer-train-position-embeddings", false);
  config.positions = tables.learned_positions ? "learned" : "sinusoidal_t2t";
  if (tables.learned_positions) config.embedding_scale = "1";

  const bool all = fields.flag("tied-embeddings-all", false),
             sides = fields.flag("tied-embeddings-src", false),
             output = fields.flag("tied-embeddings", false), one = all || sides, tied = all || output;
  config.tied = !tied ? "none" : one ? "all" : "decoder";
  tables.source = one ? "Wemb" : "encoder_Wemb";
  tables.target = one ? "Wemb" : "decoder_Wemb";
  if (!tied) {
    tables.output_transposed = source.has("decoder_ff_logit_out_Wt");
    tables.output = tables.output_transposed ? "decoder_ff_logit_out_Wt" : "decoder_ff_logit_out_W";
  }
  tables.output_bias = config.output_bias = !fields.flag("output-omit-bias", false);
  config.source_vocab_size = rows_of(source, tables.source);
  config.target_vocab_size = rows_of(source, tables.target);
  if (const Json& sizes = fields.get("dim-vocabs"); sizes.is_array() && sizes.size() == 2) {
    if (sizes[0] != Json(config.source_vocab_size) || sizes[1] != Json(config.target_vocab_size))
      fields.refuse("dim-vocabs", concat("the rows of the tables, ", config.source_vocab_size, " and ",
                                         config.target_vocab_size));
  } else if (!sizes.is_null()) {
    fields.refuse("dim-vocabs", "two vocabularies");
  }
  config.dropout = fields.real("transformer-dropout", 0.1);

  fields.expect("right-left", {false});
  config.decoder_past = fields.choice("transformer-decoder-autoreg", "self-attention",
                                      {{"self-attention", "attention"}, {"rnn", "ssru"}});
  if (config.decoder_past == "ssru") {
    fields.expect("dec-cell", {"ssru"});
    if (!fields.has("dec-cell")) fields.refuse("dec-cell", "ssru, the unit of a decoder that is an rnn");
    fields.expect("layer-normalization", {false});
  }
  for (const char* name : {"ulr", "transformer-no-projection", "transformer-rnn-projection",
                           "transformer-pool", "lemma-dependency", "transformer-no-bias",
                           "transformer-no-affine", "transformer-disable-position-embeddings"})
    fields.expect(name, {false, ""});
  fields.expect("transformer-tied-layers", {Json::array()});
  fields.expect("transformer-ffn-depth", {2});
  fields.expect("transformer-decoder-ffn-depth", {0, 2});
  for (const char* name : {"lemma-dim-emb", "factors-dim-emb"}) fields.expect(name, {0});
  for (const char* name : {"input-types", "special-vocab"}) fields.expect(name, {Json::array()});
  fields.without_effect(
      "bert-train-type-embeddings bert-type-vocab-size dec-cell dec-cell-base-depth dec-cell-high-depth "
      "dim-rnn dropout-rnn enc-cell enc-cell-depth enc-type layer-normalization skip "
      "transformer-aan-activation transformer-aan-depth transformer-aan-nogate transformer-dim-aan "
      "transformer-depth-scaling transformer-guided-alignment-layer ulr-dim-emb "
      "ulr-trainable-transformation factors-combine transformer-dropout-attention "
      "transformer-dropout-ffn char-stride char-highway char-conv-filters-num char-conv-filters-widths "
      "original-type");
  return config;
}

Mappings mappings_of(const TransformerConfig& config, const Tables& tables) {
  Mappings map;
  const std::int64_t d = config.d_model, n_source = config.source_vocab_size,
                     n_target = config.target_vocab_size;
  if (config.tied == "all") {
    map.same(tables.source, {n_source, d}, "embedding/weight");
  } else {
    map.same(tables.source, {n_source, d}, "encoder/embedding/weight");
    map.same(tables.target, {n_target, d}, "decoder/embedding/weight");
  }
  if (tables.output_transposed)
    map.transposed(tables.output, {n_target, d}, "decoder/output/weight");
  else if (!tables.output.empty())
    map.same(tables.output, {d, n_target}, "decoder/output/weight");
  if (tables.output_bias) map.same("decoder_ff_logit_out_b", {1, n_target}, "decoder/output/bias");
  const auto norm = [&](const std::string& theirs, const std::string& ours, bool before) {
    const std::string suffix = before ? "_pre" : "";
    map.same(concat(theirs, "_ln_scale", suffix), {1, d}, ours + "/gamma");
    map.same(concat(theirs, "_ln_bias", suffix), {1, d}, ours + "/beta");
  };
  const bool pre = config.norm == "pre";
  const auto attention = [&](const std::string& theirs, const std::string& ours) {
    for (const auto& [letter, part] :
         {std::pair('q', "query"), {'k', "key"}, {'v', "value"}, {'o', "output"}}) {
      map.same(concat(theirs, "_W", letter), {d, d}, concat(ours, '/', part, "/weight"));
      map.same(concat(theirs, "_b", letter), {1, d}, concat(ours, '/', part, "/bias"));
    }
    norm(theirs + "_Wo", ours + "_norm", pre);
  };
  const auto recurrence = [&](const std::string& theirs, const std::string& ours) {
    map.same(theirs + "_W", {d, d}, ours + "/candidate/weight");
    map.same(theirs + "_Wf", {d, d}, ours + "/forget/weight");
    map.same(theirs + "_bf", {1, d}, ours + "/forget/bias");
    norm(pre ? theirs : theirs + "_ffn", ours + "_norm", pre);
  };
  const auto stack = [&](const std::string& name, std::int64_t n_layers, std::int64_t d_ff) {
    if (tables.learned_positions) map.same("Wpos", {config.max_length, d}, name + "/positions/weight");
    if (config.embedding_norm) norm(name + "_emb", name + "/embedding_norm", true);
    for (std::int64_t i = 0; i < n_layers; ++i) {
      const std::string theirs = concat(name, "_l", i + 1, '_'), ours = concat(name, "/layer_", i, '/');
      if (name == "decoder" && config.decoder_past == "ssru")
        recurrence(theirs + "rnn", ours + "recurrence");
      else
        attention(theirs + "self", ours + "self_attention");
      if (name == "decoder") attention(theirs + "context", ours + "cross_attention");
      for (const auto& [number, part, in, out] : {std::tuple(1, "inner", d, d_ff), {2, "outer", d_ff, d}}) {
        map.same(concat(theirs, "ffn_W", number), {in, out}, concat(ours, "feed_forward/", part, "/weight"));
        map.same(concat(theirs, "ffn_b", number), {1, out}, concat(ours, "feed_forward/", part, "/bias"));
      }
      norm(theirs + "ffn_ffn", ours + "feed_forward_norm", pre);
    }
    if (config.final_norm == "yes" || (config.final_norm == "by_norm" && pre))
      norm(name + "_top", name + "/final_norm", false);
  };
  stack("encoder", config.n_encoder_layers, config.d_ff);
  stack("decoder", config.n_decoder_layers, config.decoder_d_ff > 0 ? config.decoder_d_ff : config.d_ff);
  map.ignore("special:*", "settings");
  map.ignore(kActivationFactors, "a factor of activations in Marian's products of integers");
  return map;
}

/// The file with the search settings; empty if there is none.
std::string decoder_file(const Source& source, std::vector<std::string>& notes) {
  if (const std::string path = source.file(kDecoderFile); !path.empty()) return path;
  const std::vector<std::string> students = source.files_like("config.intgemm", ".yml");
  if (students.size() > 1)
    notes.push_back(concat("search settings: of ", joined(students), " the first is read"));
  return students.empty() ? "" : source.file(students.front());
}

SearchSettings search_of(ConfigFields& decoder, std::vector<std::string>& notes) {
  SearchSettings search;
  search.beam = decoder.number("beam-size", 12);
  const Json normalize = decoder.get("normalize");
  if (!normalize.is_null() && !normalize.is_boolean() && !normalize.is_number())
    decoder.refuse("normalize", "a number");
  search.length_penalty = normalize.is_boolean()  ? (normalize.get<bool>() ? 1.0 : 0.0)
                          : normalize.is_number() ? normalize.get<double>()
                                                  : 0.0;
  search.length_factor = decoder.real("max-length-factor", 3);
  if (const double penalty = decoder.real("word-penalty", 0); penalty != 0)
    notes.push_back(concat("word-penalty = ", penalty, ": heed searches without it"));
  if (decoder.has("shortlist")) notes.emplace_back("shortlist: heed searches among all words");
  if (const Json& models = decoder.get("models"); models.is_array() && models.size() > 1)
    decoder.refuse("models", "one: ensembles are not supported");
  for (const char* name : {"output-sampling", "force-decode", "n-best"})
    decoder.expect(name, {false, Json::array()});
  for (const char* name : {"quantize-range", "quantize-biases"}) decoder.expect(name, {0, false});
  // Paths, messages, batching, hardware, and how Bergamot cuts text into sentences.
  decoder.without_effect(
      "shortlist max-length-break ssplit-mode ssplit-prefix-file cache-size relative-paths models vocabs "
      "weights max-length max-length-crop allow-unk allow-special "
      "ignore-model-config skip-cost config input output port tsv tsv-fields log log-level "
      "log-time-zone quiet quiet-translation seed authors cite build-info version interpolate-env-vars "
      "clip-gemm fp16 precision gemm-type gemm-precision optimize int8shift devices num-devices "
      "cpu-threads workspace mini-batch mini-batch-words maxi-batch maxi-batch-sort data-threads "
      "best-deep alignment word-scores no-spm-encode no-spm-decode stat-freq");
  return search;
}

/// A file from a list in the settings, possibly with a path on another machine: its last component, beside
/// the weights.
std::string listed_file(const Source& source, const Json& list, std::size_t number) {
  if (!list.is_array() || number >= list.size() || !list[number].is_string()) return "";
  return source.file(std::filesystem::path(list[number].get<std::string>()).filename().string());
}

text::Tokenizer read_tokenizer(const Source& source, const Json& vocabularies, bool is_target,
                               std::int64_t rows, const SpecialIds& special,
                               std::vector<std::string>& notes) {
  if (std::optional<text::Tokenizer> own = own_vocabulary(source, rows, is_target ? "target" : "source"))
    return *std::move(own);
  std::string path = listed_file(source, vocabularies, is_target ? 1 : 0);
  for (const char* begin : {is_target ? "trgvocab" : "srcvocab", "vocab"})
    if (const auto names = source.files_like(begin, ".spm"); path.empty() && names.size() == 1)
      path = source.file(names.front());
  SpecialIds plain = special;
  if (path.empty()) {
    notes.push_back(concat("no vocabulary of the ", is_target ? "target" : "source",
                           ": its pieces are the ids in digits"));
    plain.eos = 0;
    plain.unk = 1;
    if (is_target) plain.bos = plain.eos;
    return text::Tokenizer::of_ids(rows, plain);
  }
  const std::string model = source.file(is_target ? "target.spm" : "source.spm");
  const text::Tokenizer made = source.taken(text::read_marian_tokenizer(path, model));
  if (is_target) plain.bos = made.special().eos;
  return fitted(made, rows, plain, escaped(path), notes);
}

ForeignModel describe(const Source& source) {
  const std::string where = concat(escaped(source.path()), ":/", kSettings);
  ConfigFields fields(yaml_object(settings_text(source, where), where), where,
                      source.options().ignored_fields);
  ForeignModel found;
  found.kind = "Marian";
  const std::string decoder_path = decoder_file(source, found.notes);
  ConfigFields decoder = decoder_path.empty() ? fields.beside(kDecoderFile, Json::object())
                                              : fields.beside(std::filesystem::path(decoder_path).filename(),
                                                              read_yaml_object(decoder_path));
  Tables tables;
  TransformerConfig config = config_of(source, fields, tables);
  config.max_length =
      tables.learned_positions ? rows_of(source, "Wpos") : decoder.number("max-length", kUsualLength);
  found.search = search_of(decoder, found.notes);
  const Json stated = fields.get("vocabs"),
             vocabularies = decoder.has("vocabs") ? decoder.get("vocabs") : stated;
  SpecialIds special = kNoSpecialIds;
  special.produces_unk = decoder.flag("allow-unk", false);
  fields.merge(decoder);
  fields.finish();
  check_config(config);
  found.config_json = to_json(config);
  found.mappings = mappings_of(config, tables);
  found.source = read_tokenizer(source, vocabularies, false, config.source_vocab_size, special, found.notes);
  found.target = read_tokenizer(source, vocabularies, true, config.target_vocab_size, special, found.notes);
  found.formulas = {
      {"positions", config.positions}, {"activation", config.activation}, {"norm_epsilon", "1e-6"}};
  for (const io::ArrayInfo& array : source.weights().arrays())
    if (array.name == tables.source && array.type.starts_with("scaled"))
      found.formulas.emplace_back("weights", array.type);
  return found;
}

/// Settings as YAML: for numbers, flags, words and lists of words this is JSON.
std::string yaml_of(const Json& settings) {
  std::string text;
  for (const auto& [name, value] : settings.items()) text += concat(name, ": ", value.dump(), "\n");
  return text;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != TransformerConfig::kArchitecture) return std::nullopt;
  TransformerConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const bool learned = config.positions == "learned", pre = config.norm == "pre",
             recurrent = config.decoder_past == "ssru";
  Requirements require(config, reasons);
  require.keep(
      "source_vocab_size target_vocab_size d_model n_heads n_encoder_layers n_decoder_layers d_ff "
      "decoder_d_ff max_length embedding_norm final_norm tied output_bias decoder_past");
  require.want("positions=sinusoidal_t2t|learned norm=pre|post norm_epsilon=1e-6 decoder_start=zero");
  require.want_usual_heads();
  require.want_own_keys();
  require.want("embedding_scale", {learned ? "1" : "sqrt_d"});
  const std::string activation = require.word(
      "activation", {{"relu", "relu"}, {"silu", "swish"}, {"gelu", "gelu"}, {"gelu_sigmoid", "gelu"}});
  if (learned && require.are_met() &&
      !are_equal(loaded.model->parameters, "encoder/positions/weight", "decoder/positions/weight"))
    reasons.emplace_back("encoder and decoder have other tables of positions, and Marian has one");
  if (!require.are_met()) return std::nullopt;
  Tables tables;
  const bool all = config.tied == "all";
  tables.source = all ? "Wemb" : "encoder_Wemb";
  tables.target = all ? "Wemb" : "decoder_Wemb";
  if (config.tied == "none") tables.output = "decoder_ff_logit_out_W";
  tables.output_bias = config.output_bias;
  tables.learned_positions = learned;
  Exported out;
  out.mappings = mappings_of(config, tables);
  out.config = {{"model_type", "marian"}};
  const bool top = config.final_norm == "yes" || (config.final_norm == "by_norm" && pre);
  out.archive = "model.npz";
  out.settings_name = kSettings;
  out.settings = yaml_of({{"type", "transformer"},
                          // What its activation "gelu" is.
                          {"version", config.activation == "gelu_sigmoid" ? "v1.12.0" : "v1.12.1"},
                          {"dim-emb", config.d_model},
                          {"dim-vocabs", {config.source_vocab_size, config.target_vocab_size}},
                          {"enc-depth", config.n_encoder_layers},
                          {"dec-depth", config.n_decoder_layers},
                          {"transformer-heads", config.n_heads},
                          {"transformer-dim-ffn", config.d_ff},
                          {"transformer-decoder-dim-ffn", config.decoder_d_ff},
                          {"transformer-ffn-activation", activation},
                          {"transformer-ffn-depth", 2},
                          {"transformer-preprocess", pre ? "n" : ""},
                          {"transformer-postprocess", pre ? "da" : "dan"},
                          {"transformer-postprocess-emb", config.embedding_norm ? "nd" : "d"},
                          {"transformer-postprocess-top", top ? "n" : ""},
                          {"transformer-train-position-embeddings", learned},
                          {"transformer-decoder-autoreg", recurrent ? "rnn" : "self-attention"},
                          {"dec-cell", recurrent ? "ssru" : "gru"},
                          {"transformer-dropout", config.dropout},
                          {"tied-embeddings", config.tied == "decoder"},
                          {"tied-embeddings-all", all},
                          {"tied-embeddings-src", false},
                          {"output-omit-bias", !config.output_bias}});
  const SearchSettings search = search_settings_of(loaded.origin).value_or(SearchSettings{});
  Json decoder{{"models", {out.archive}},         {"relative-paths", true},
               {"beam-size", search.beam},        {"normalize", search.length_penalty},
               {"max-length", config.max_length}, {"allow-unk", loaded.target.special().produces_unk}};
  if (search.length_factor > 0) decoder["max-length-factor"] = search.length_factor;  // 0: Marian's own
  out.files = {{kDecoderFile, yaml_of(decoder)}};
  return out;
}

}  // namespace
}  // namespace marian_native

const Family kMarianNative{"Marian's .npz and .bin", marian_native::recognises, marian_native::describe,
                           marian_native::express};

}  // namespace heed::foreign
