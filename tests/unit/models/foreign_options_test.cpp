// No export loses an option. For a small model of each kind that is exported, every field of its config takes every
// other value that there is, or some others: the export is refused, for a reason that has to do with the field, or the
// exported model computes the same.
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/encoder_only.h"
#include "models/foreign/config_fields.h"
#include "models/foreign/export.h"
#include "models/model_file.h"
#include "models/shards.h"
#include "models/transformer.h"
#include "support/temporary_folder.h"

using namespace heed;
using namespace heed::test;
using foreign::Json;

namespace {

/// Of a model that is exported.
struct Start {
  const char* name;
  Json config;
  const char* origin = "";   ///< what it was imported as
  bool same_tables = false;  ///< encoder and decoder have tables of the same values
};

std::ostream& operator<<(std::ostream& out, const Start& start) {
  return out << start.name;
}

Json with(Json config, const char* more) {
  config.update(Json::parse(more));
  return config;
}

std::vector<Start> starts() {
  const Json sizes = {{"d_model", 8}, {"d_ff", 12}, {"n_heads", 2}, {"max_length", 9}};
  Json encoder = sizes, decoder = sizes, pair = sizes;
  encoder.update({{"architecture", "encoder"},
                  {"n_encoder_layers", 2},
                  {"source_vocab_size", 20},
                  {"activation", "gelu"}});
  decoder.update({{"architecture", "decoder"}, {"n_decoder_layers", 2}, {"target_vocab_size", 20}});
  pair.update({{"architecture", "transformer"},
               {"n_encoder_layers", 2},
               {"n_decoder_layers", 2},
               {"source_vocab_size", 20},
               {"target_vocab_size", 20}});
  const char *words = R"({"word_transform": true, "output_bias": true})",
             *classes = R"({"n_classes": 3, "pooling": "first", "pooler": true})",
             *of_tokens = R"({"n_classes": 3, "pooling": "none"})",
             *vectors = R"({"masked_words": false, "normalised": true, "dense_width": 5})";
  const Json bert = with(encoder, R"({"embedding_norm": true, "embedding_scale": "1", "n_token_types": 2})"),
             roberta = with(bert, R"({"position_offset": 2})"),
             mpnet = with(roberta, R"({"n_token_types": 0, "positions": "learned_buckets"})"),
             electra = with(bert, R"({"embedding_width": 4, "pooler_activation": "gelu"})"),
             distilbert =
                 with(bert, R"({"n_token_types": 0, "norm_epsilon": 1e-12, "pooler_activation": "relu"})"),
             modernbert = with(encoder, R"({
      "embedding_norm": true, "embedding_scale": "1", "norm": "pre", "norm_kind": "layer_no_bias", "first_norm": false,
      "positions": "rotary", "gated": true, "attention_bias": "none", "feed_forward_bias": false, "head_bias": false,
      "sliding_window": 2, "window_layers": "fw", "rope_local_base": 50, "pooler_norm": true,
      "pooler_activation": "gelu"})"),
             vit = with(encoder, R"({"source_vocab_size": 1, "norm": "pre", "image_size": 4, "patch_size": 2,
                                     "n_channels": 2, "max_length": 5, "pooling": "first"})"),
             rotary = with(decoder, R"({"positions": "rotary", "activation": "gelu"})"),
             llama = with(decoder,
                          R"({"positions": "rotary", "activation": "silu", "gated": true, "norm_kind": "rms",
                                       "n_kv_heads": 1, "attention_bias": "none", "feed_forward_bias": false})"),
             llama_encoder =
                 with(encoder, R"({"positions": "rotary", "activation": "silu", "gated": true, "norm": "pre",
                                       "norm_kind": "rms", "n_kv_heads": 1, "attention_bias": "none",
                                       "feed_forward_bias": false, "masked_words": false})"),
             gemma = with(llama, R"({"activation": "gelu_tanh", "norm_kind": "rms_plus_one"})"),
             bart = with(pair, R"({"positions": "learned", "position_offset": 2, "embedding_norm": true})"),
             npz = with(pair,
                        R"({"positions": "sinusoidal_t2t", "norm_epsilon": 1e-6, "decoder_start": "zero"})"),
             t5 = with(pair, R"({"positions": "relative_buckets", "norm": "pre", "norm_kind": "rms",
                                 "attention_bias": "none", "feed_forward_bias": false, "score_scale": "1",
                                 "relative_buckets": 4, "relative_max_distance": 6})");
  return {
      {"BERT of words", with(bert, words)},
      {"BERT of classes", with(bert, classes)},
      {"BERT of tokens", with(bert, of_tokens)},
      {"BERT of vectors", with(bert, vectors)},
      {"bare BERT", with(bert, R"({"masked_words": false, "pooler": true})")},
      {"RoBERTa of words", with(roberta, words)},
      {"RoBERTa of classes", with(roberta, classes)},
      {"MPNet of words", with(mpnet, words)},
      {"MPNet of vectors", with(mpnet, vectors)},
      {"ELECTRA of words", with(electra, words)},
      {"ELECTRA of classes", with(electra, classes)},
      {"DistilBERT of words", with(distilbert, words)},
      {"DistilBERT of classes", with(distilbert, classes)},
      {"DistilBERT of tokens", with(distilbert, of_tokens)},
      {"DistilBERT of vectors", with(distilbert, vectors)},
      {"ModernBERT of words", with(modernbert, words)},
      {"ModernBERT of classes", with(modernbert, classes)},
      {"ModernBERT of tokens", with(with(modernbert, of_tokens), R"({"pooler": true})")},
      {"ModernBERT of vectors", with(modernbert, vectors)},
      {"ModernBERT without windows",
       with(with(modernbert, words), R"({"sliding_window": 0, "window_layers": "w", "rope_local_base": 0})")},
      {"ViT of classes", with(vit, R"({"n_classes": 3})")},
      {"bare ViT", with(vit, R"({"masked_words": false, "pooler": true})")},
      {"GPT-2", decoder},
      {"OPT", with(decoder, R"({"position_offset": 2, "activation": "relu"})")},
      {"GPT-NeoX", with(rotary, R"({"parallel_residual": "two_norms", "d_rotary": 2})")},
      {"Phi", with(rotary, R"({"parallel_residual": "one_norm", "output_bias": true, "n_kv_heads": 1})")},
      {"StarCoder2", with(rotary, R"({"sliding_window": 3})")},
      {"Llama", llama},
      {"Llama, scaled",
       with(llama, R"({"rope_scaling": "yarn", "rope_factor": 2, "rope_original_length": 4})")},
      {"Mistral", with(llama, R"({"sliding_window": 3})")},
      {"Ministral", with(llama, R"({"sliding_window": 3, "window_layers": "wf"})")},
      {"Qwen2", with(llama, R"({"sliding_window": 3, "window_layers": "fw", "attention_bias": "qkv"})")},
      {"Qwen3", with(llama, R"({"sliding_window": 3, "qk_norm": true})")},
      {"Gemma", gemma},
      {"Gemma 3", with(gemma, R"({"norm": "sandwich", "qk_norm": true, "score_width": 5, "sliding_window": 3,
                                  "window_layers": "wf", "rope_local_base": 50})")},
      {"Gemma 3 without windows", with(gemma, R"({"norm": "sandwich", "qk_norm": true})")},
      {"Llama of vectors", llama_encoder},
      {"Gemma of vectors",
       with(llama_encoder, R"({"norm_kind": "rms_plus_one", "activation": "gelu_tanh", "causal": true})")},
      {"OLMo 2 of vectors",
       with(llama_encoder, R"({"norm": "output", "qk_norm": true, "qk_norm_over": "all", "causal": true})")},
      {"Phi-3 of vectors",
       with(llama_encoder, R"({"d_rotary": 2, "sliding_window": 3, "causal": true, "pooling": "last"})"),
       "Phi-3"},
      {"Qwen3 of vectors",
       with(llama_encoder, R"({"qk_norm": true, "causal": true, "pooling": "last", "sliding_window": 3})")},
      {"Gemma 3 of vectors",
       with(llama_encoder,
            R"({"norm": "sandwich", "qk_norm": true, "norm_kind": "rms_plus_one", "activation": "gelu_tanh",
                               "sliding_window": 3, "window_layers": "wf", "rope_local_base": 50, "normalised": true,
                               "dense_width": 5, "dense_inner_width": 6, "dense_bias": false})")},
      {"OLMo 2", with(llama, R"({"norm": "output", "qk_norm": true, "qk_norm_over": "all"})")},
      {"Phi-3", with(llama, R"({"d_rotary": 2, "sliding_window": 3})"), "Phi-3"},
      {"Marian", with(pair, R"({"output_bias": true, "decoder_d_ff": 10})")},
      {"Marian, untied", with(pair, R"({"tied": "none"})")},
      {"BART", bart},
      {"BART, untied", with(bart, R"({"tied": "none"})"), "", true},
      {"mBART", with(bart, R"({"norm": "pre"})")},
      {"M2M-100", with(pair, R"({"positions": "sinusoidal_t2t", "position_offset": 2, "norm": "pre"})")},
      {"Marian's own", npz},
      {"Marian's own, recurrent", with(npz, R"({"decoder_past": "ssru", "norm": "pre", "tied": "none"})")},
      {"Marian's own, learned", with(npz, R"({"positions": "learned", "embedding_scale": "1"})"), "", true},
      {"T5", with(t5, R"({"embedding_scale": "1"})")},
      {"T5, gated", with(t5, R"({"gated": true, "activation": "gelu_tanh"})")},
      {"T5, untied", with(t5, R"({"embedding_scale": "1", "tied": "none"})"), "", true},
  };
}

/// Fields that are legal only together, or of effect.
const std::vector<Json> kTogether{
    Json::parse(R"({"sliding_window": 2, "window_layers": "wf"})"),
    Json::parse(R"({"sliding_window": 2, "rope_local_base": 70})"),
    Json::parse(R"({"sliding_window": 2, "window_layers": "fw", "rope_local_base": 70})"),
    Json::parse(R"({"sliding_window": 2, "window_layers": "w", "positions": "rotary"})"),
    Json::parse(R"({"sliding_window": 0, "window_layers": "w", "rope_local_base": 0})"),
    Json::parse(R"({"positions": "rotary", "d_rotary": 2, "position_offset": 0})"),
    Json::parse(R"({"rope_scaling": "linear", "rope_factor": 2})"),
    Json::parse(R"({"rope_scaling": "linear", "rope_factor": 2, "rope_attention_factor": 1.5})"),
    Json::parse(R"({"rope_scaling": "llama3", "rope_factor": 2, "rope_original_length": 4})"),
    Json::parse(R"({"rope_scaling": "yarn", "rope_factor": 2, "rope_original_length": 4})"),
    Json::parse(R"({"rope_scaling": "yarn", "rope_factor": 2, "rope_attention_factor": 1.5})"),
    Json::parse(R"({"norm": "sandwich", "final_norm": "no"})"),
    Json::parse(R"({"norm": "pre", "final_norm": "no"})"),
    Json::parse(R"({"norm": "pre", "final_norm": "yes"})"),
    Json::parse(R"({"norm": "post", "final_norm": "yes"})"),
    Json::parse(R"({"norm": "pre", "first_norm": false})"),
    Json::parse(R"({"norm": "pre", "parallel_residual": "one_norm"})"),
    Json::parse(R"({"norm": "sandwich", "norm_kind": "layer"})"),
    Json::parse(R"({"norm_kind": "rms", "qk_norm": true})"),
    Json::parse(R"({"norm_kind": "rms", "qk_norm": true, "qk_norm_over": "all"})"),
    Json::parse(R"({"norm": "output", "norm_kind": "layer", "qk_norm": true})"),
    Json::parse(R"({"norm": "output", "final_norm": "no"})"),
    Json::parse(R"({"norm_kind": "rms_plus_one", "embedding_scale": "1"})"),
    Json::parse(R"({"pooler": true, "pooler_norm": true})"),
    Json::parse(R"({"pooler": true, "pooler_activation": "silu"})"),
    Json::parse(R"({"pooler": true, "head_bias": false})"),
    Json::parse(R"({"pooler": false, "pooler_norm": false})"),
    Json::parse(R"({"masked_words": false, "n_classes": 0, "word_transform": false, "output_bias": false,
                    "pooling": "first", "dense_width": 5, "dense_activation": "relu"})"),
    Json::parse(R"({"masked_words": false, "n_classes": 0, "word_transform": false, "output_bias": false,
                    "pooling": "mean", "normalised": true})"),
    Json::parse(
        R"({"dense_width": 5, "dense_inner_width": 4, "dense_bias": false, "dense_activation": "none"})"),
    Json::parse(R"({"causal": true, "sliding_window": 0, "window_layers": "w", "rope_local_base": 0})"),
    Json::parse(R"({"n_classes": 1, "problem_type": "multi_label"})"),
    Json::parse(R"({"feature_places": 4, "image_size": 0})"),
    Json::parse(R"({"image_size": 6, "max_length": 10})"),
    Json::parse(R"({"d_model": 12, "d_ff": 10, "n_heads": 3, "n_encoder_layers": 1})"),
    Json::parse(R"({"patch_size": 1, "max_length": 17})"),
    Json::parse(R"({"image_mean": "0.25,0.5", "image_deviation": "0.5,0.25"})"),
    Json::parse(R"({"source_vocab_size": 21, "target_vocab_size": 21})"),
    Json::parse(R"({"tied": "decoder", "target_vocab_size": 21})"),
    Json::parse(R"({"tied": "none", "target_vocab_size": 21})"),
    Json::parse(R"({"tied": "none", "embedding_scale": "sqrt_d"})"),
    Json::parse(R"({"tied": "all", "embedding_scale": "1"})"),
    Json::parse(R"({"decoder_start": "zero", "decoder_past": "ssru"})"),
    Json::parse(R"({"d_model": 10, "d_head": 4, "n_heads": 3, "n_kv_heads": 3})"),
    Json::parse(R"({"score_scale": "1", "score_width": 0})"),
    Json::parse(R"({"gated": true, "feed_forward_bias": true})"),
    Json::parse(R"({"attention_bias": "none", "feed_forward_bias": false})"),
    Json::parse(R"({"attention_bias": "all", "feed_forward_bias": true})"),
    Json::parse(R"({"relative_buckets": 8, "relative_max_distance": 9})"),
};

/// All other words, and some other numbers.
std::vector<Json> others(const Field& field) {
  std::vector<Json> found;
  if (const auto* flag = std::get_if<bool*>(&field.value)) return {Json(!**flag)};
  if (const auto* word = std::get_if<std::string*>(&field.value)) {
    std::vector<std::string> words = field.choices;
    if (field.name == "window_layers") words = {"w", "wf", "fw"};
    if (field.name == "image_mean" || field.name == "image_deviation") words = {"0.25"};
    BOOST_REQUIRE_MESSAGE(!words.empty(), "which other words does " << field.name << " take?");
    for (const std::string& other : words)
      if (other != **word) found.emplace_back(other);
  } else if (const auto* number = std::get_if<std::int64_t*>(&field.value)) {
    const std::int64_t n = **number;
    for (const std::int64_t other : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, 2 * n})
      if (other != n && field.range.holds(static_cast<double>(other))) found.emplace_back(other);
  } else {
    const double x = *std::get<double*>(field.value);
    for (const double other : {0.0, 2 * x + 1.5})
      if (other != x && field.range.holds(other)) found.emplace_back(other);
  }
  return found;
}

/// Fills all parameters, so that none is without effect.
void draw(Model<float>& model, bool same_tables) {
  std::mt19937 generator(7);
  for (const Parameter& p : model.parameters.list()) {
    const Matrix<float> values = p.in(model.parameters.values().data());
    const bool copies = same_tables && p.name.starts_with("decoder/") &&
                        model.parameters.contains("encoder" + p.name.substr(7)) &&
                        (p.name.ends_with("/embedding/weight") || p.name.ends_with("/positions/weight"));
    const Matrix<const float> from =
        copies ? std::as_const(model.parameters).view("encoder" + p.name.substr(7)) : values;
    for (std::int64_t i = 0; i < values.rows; ++i)
      for (std::int64_t j = 0; j < values.cols; ++j)
        values(i, j) =
            copies && i < from.rows ? from(i, j) : static_cast<float>(generator() % 2001) / 1000.0f - 1.0f;
  }
}

LoadedModel made(const Json& config, const Start& start) {
  std::unique_ptr<Model<float>> model = make_model<float>(config.dump());
  draw(*model, start.same_tables);
  const auto pieces = [&](Side side, Side other) {
    const std::int64_t size = model->sizes(model->has(side) ? side : other).vocab_size;
    const std::int32_t pad = size > 1 ? 1 : SpecialIds::kAbsent;
    return text::Tokenizer::of_ids(size, {pad, -1, 0, 0, -1, -1, -1});
  };
  const text::Tokenizer source = pieces(Side::source, Side::target),
                        target = pieces(Side::target, Side::source);
  LoadedModel made{std::move(model), source, target, {}, {}, {}, {}};
  for (std::int64_t i = 0; i < made.model->n_classes; ++i) made.classes.push_back(std::to_string(i));
  if (*start.origin) made.origin = Json{{"kind", start.origin}}.dump();
  complete(made, "made", made.model->config_json);
  return made;
}

PackedTokens some_tokens(std::int64_t vocabulary, std::int64_t longest) {
  PackedTokens tokens;
  for (const std::int64_t length : {std::int64_t{7}, std::int64_t{3}}) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < std::min(length, longest); ++i)
      ids.push_back(static_cast<std::int32_t>((5 * i + length) % vocabulary));
    tokens.append(ids);
  }
  return tokens;
}

void append(std::vector<float>& all, Matrix<const float> m) {
  for (std::int64_t i = 0; i < m.rows; ++i) all.insert(all.end(), m.row(i), m.row(i) + m.cols);
}

/// What a model makes of an input, by all heads that it has.
std::vector<float> results(const Model<float>& model, std::int64_t longest, std::int64_t n_types) {
  std::vector<float> all;
  Packing rows;
  PackedTokens tokens;
  InferencePass pass(model);
  std::optional<Encoded<float>> encoded;
  if (model.images) {
    rows.append(model.images->rows());
    std::vector<float> pixels;
    for (std::int64_t i = 0; i < model.images->values(); ++i)
      pixels.push_back(std::sin(1.7f * static_cast<float>(i)));
    encoded = model.encode(pass, model.images->embed<float>(pass, pixels, rows), rows);
    for (const std::vector<double>& values : {model.images->mean, model.images->deviation})
      all.insert(all.end(), values.begin(), values.end());
  } else if (model.encoder) {
    tokens = some_tokens(model.sizes(Side::source).vocab_size, longest);
    for (std::size_t i = 0; n_types > 0 && i < tokens.ids.size(); ++i)
      tokens.types.push_back(static_cast<std::int32_t>(i) % static_cast<std::int32_t>(n_types));
    encoded = model.encode(pass, tokens);
  }
  if (model.decoder) {
    const PackedTokens written = some_tokens(model.sizes(Side::target).vocab_size, longest);
    const Var<float> embedded = model.embed(pass, Side::target, written);
    const Var<float> states =
        model.decode(pass, encoded ? &*encoded : nullptr, embedded, written.rows).states;
    append(all, model.words->logits(pass, states).value());
    return all;
  }
  append(all, encoded->states.value());
  if (model.words) append(all, model.words->logits(pass, encoded->states).value());
  if (model.classes) {
    append(all, model.class_logits(pass, *encoded).value());
    all.push_back(static_cast<float>(model.classes->problem));
  }
  const auto add_vectors = [&](const SentenceVectors& vectors) {
    const std::vector<float> values = vectors.of(pass, encoded->states, *encoded->rows);
    all.insert(all.end(), values.begin(), values.end());
  };
  if (model.sentences) add_vectors(*model.sentences);
  if (model.parameters.contains("encoder/pooler/weight"))
    add_vectors({.pooling = Pooling::first, .pooler = model.pooler});
  return all;
}

/// Where there is one: a thousand models are written, each file through to the disk.
std::filesystem::path folder_in_memory() {
  const std::filesystem::path shared = "/dev/shm";
  return std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path();
}

/// What reasons may name instead of a field: it decided what the model would be exported as, or what heads it has.
const std::map<std::string, std::vector<std::string>> kRelated{
    {"positions", {"position_offset", "n_token_types", "norm is"}},
    {"position_offset", {"n_token_types", "embedding_width"}},
    {"n_token_types", {"pooler_activation"}},
    {"embedding_width", {"pooler_activation"}},
    {"n_classes", {"pooling", "pooler", "word_transform"}},
    {"masked_words", {"word_transform", "pooler"}},
    {"pooling", {"pooler"}},
    {"gated", {"activation"}},
    {"image_size", {"features of another program", "patch_size"}},
    {"parallel_residual", {"output_bias"}},
    {"tied", {"tables of their own"}},
    {"source_vocab_size", {"tables of their own"}},
    {"target_vocab_size", {"tables of their own"}},
};

bool names(const std::string& message, const Json& changes) {
  for (const auto& [field, value] : changes.items()) {
    std::vector<std::string> words{field};
    if (const auto related = kRelated.find(field); related != kRelated.end())
      words.insert(words.end(), related->second.begin(), related->second.end());
    for (const std::string& word : words)
      if (message.find(word) != std::string::npos) return true;
  }
  return false;
}

/// Whether it is exported. Expects that nothing is lost then, and else a reason that has to do with one of the changes.
bool check_export(const Json& config, const Start& start, const Json& changes) {
  const LoadedModel own = made(config, start);
  const TemporaryFolder temporary(folder_in_memory());
  try {
    foreign::export_model(own, temporary / "out");
  } catch (const Error& e) {
    const std::string message = e.what();
    BOOST_CHECK_MESSAGE(message.starts_with("this model cannot be exported: "),
                        start.name << ": " << changes << ": " << message);
    BOOST_CHECK_MESSAGE(names(message, changes), start.name << ": " << changes << ": " << message);
    return false;
  }
  std::filesystem::remove(temporary / "out/heed_vocabulary.h5");  // whose reading takes longer than all else
  try {
    const LoadedModel again = load_model(temporary / "out");
    const std::int64_t longest = config["max_length"],
                       n_types = config.value("n_token_types", std::int64_t{0});
    const std::vector<float> wanted = results(*own.model, longest, n_types),
                             got = results(*again.model, longest, n_types);
    bool is_same = got.size() == wanted.size();
    for (std::size_t i = 0; is_same && i < got.size(); ++i)
      is_same = std::abs(got[i] - wanted[i]) <= 1e-5f * std::max(1.0f, std::abs(wanted[i]));
    BOOST_CHECK_MESSAGE(is_same, start.name << ": " << changes << " is lost: " << own.model->config_json
                                            << " became " << again.model->config_json);
  } catch (const Error& e) {
    BOOST_ERROR(start.name << ": " << changes << ": exported, but cannot be read: " << e.what());
  }
  return true;
}

/// The config with these changes; null if they are none, or illegal.
template <class Config>
Json changed(const Json& config, const Json& changes) {
  Json whole = config;
  whole.update(changes);
  Config read;
  const std::vector<Field> fields = fields_of(read);
  for (const auto& [name, value] : changes.items())
    if (!find_field(fields, name)) return {};
  try {
    from_json(whole.dump(), fields);
    check_config(read);
  } catch (const Error&) {
    return {};
  }
  return whole == config ? Json() : whole;
}

template <class Config>
void check_start(const Start& start) {
  BOOST_CHECK(check_export(start.config, start, Json::object()));
  Config config;
  from_json(start.config.dump(), fields_of(config));
  std::vector<Json> changes = kTogether;
  Json sizes;  // which every model has, all at once
  for (const Field& field : fields_of(config)) {
    if (field.of_training) continue;
    if (const auto* size = std::get_if<std::int64_t*>(&field.value); size && !field.optional)
      sizes[field.name] = 2 * **size;
    else
      for (const Json& other : others(field)) changes.push_back({{field.name, other}});
  }
  changes.push_back(sizes);
  for (const Json& change : changes)
    if (const Json whole = changed<Config>(start.config, change); !whole.is_null())
      check_export(whole, start, change);
}

BOOST_AUTO_TEST_SUITE(foreign_options)

BOOST_DATA_TEST_CASE(are_kept_or_refused, boost::unit_test::data::make(starts()), start) {
  logging::configure({.level = logging::Level::quiet});
  const std::string architecture = start.config["architecture"];
  if (architecture == EncoderOnlyConfig::kArchitecture)
    check_start<EncoderOnlyConfig>(start);
  else if (architecture == DecoderOnlyConfig::kArchitecture)
    check_start<DecoderOnlyConfig>(start);
  else
    check_start<TransformerConfig>(start);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
