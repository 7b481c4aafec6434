#include "models/foreign/family.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "io/frame_stream.h"
#include "models/config_json.h"
#include "models/decoder_only.h"
#include "models/encoder_only.h"
#include "models/foreign/generation.h"
#include "models/model_file.h"
#include "nn/positional_encoding.h"
#include "text/bounded_json.h"
#include "text/foreign_sentencepiece.h"
#include "text/foreign_tokenizer.h"
#include "text/unicode.h"

namespace heed::foreign {
namespace {

namespace fs = std::filesystem;

/// Weights as saved by older versions of transformers: a PyTorch checkpoint.
constexpr const char* kPickledWeights = "pytorch_model.bin";

/// Bit for bit, whatever the type.
bool equal_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.dtype() == DType::string) return false;
  return with_type(a.dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, std::string>)
      return false;
    else {
      const auto x = a.values<T>(), y = b.values<T>();
      return std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
    }
  });
}

/// The arrays of two files; names of the second's begin with `prefix`.
class Joined final : public io::ArrayFile {
 public:
  Joined(std::unique_ptr<io::ArrayFile> first, std::unique_ptr<io::ArrayFile> second,
         const std::string& prefix)
      : first_(std::move(first)), second_(std::move(second)) {
    arrays_ = first_->arrays();
    metadata_ = first_->metadata();
    for (io::ArrayInfo info : second_->arrays()) {
      info.name = prefix + info.name;
      arrays_.push_back(std::move(info));
    }
  }
  Tensor read(std::size_t index) const override {
    const std::size_t own = first_->arrays().size();
    return index < own ? first_->read(index) : second_->read(index - own);
  }
  void read_rows(std::size_t index, const RowSink& take) const override {
    const std::size_t own = first_->arrays().size();
    index < own ? first_->read_rows(index, take) : second_->read_rows(index - own, take);
  }

 private:
  std::unique_ptr<io::ArrayFile> first_, second_;
};

/// Ids without a row cannot be read or produced. Configs contain them as defaults of a larger vocabulary. A
/// padding id that is also another piece is that piece.
void drop_impossible(SpecialIds& ids, std::int64_t rows, std::vector<std::string>& notes) {
  for (const SpecialName& each : kSpecialNames) {
    if (ids.*each.id < rows) continue;
    notes.push_back(concat(each.name, " is ", ids.*each.id, ", which none of ", rows,
                           " rows is: there is no ", each.name));
    ids.*each.id = SpecialIds::kAbsent;
  }
  if (ids.pad == SpecialIds::kAbsent) return;
  for (const SpecialName& each : kSpecialNames) {
    if (each.id == &SpecialIds::pad || each.id == &SpecialIds::bos || ids.*each.id != ids.pad) continue;
    notes.push_back(concat("pad is ", ids.pad, ", which is ", each.name, " too: there is no pad"));
    ids.pad = SpecialIds::kAbsent;
    return;
  }
}

}  // namespace

Source::Source(std::string path, ImportOptions options)
    : path_(std::move(path)), weights_path_(path_), options_(std::move(options)) {
  std::error_code ignored;
  folder_ = fs::is_directory(path_, ignored) ? path_ : fs::path(path_).parent_path().string();
  if (folder_.empty()) folder_ = ".";
  if (folder_ == path_ && file("config.json").empty()) {
    // Marian's folder of weights and vocabularies. Beside its binary model there may be a shortlist, lex.*.bin.
    for (const auto& [begin, end] : {std::pair("model", ".bin"), {"", ".npz"}})
      if (const auto names = files_like(begin, end); names.size() == 1)
        weights_path_ = (fs::path(folder_) / names.front()).string();
    if (const std::string parameters = file(kSockeyeWeights); !parameters.empty()) weights_path_ = parameters;
  }
  if (folder_ != path_) return;  // config.json beside a lone file is not its own
  if (const std::string config = file("config.json"); !config.empty()) {
    config_ = read_json_object(config);
    const auto type = config_.find("model_type");
    if (type != config_.end() && type->is_string()) model_type_ = type->get<std::string>();
    if (!has_weights())
      if (const std::string pickled = file(kPickledWeights); !pickled.empty() && io::is_array_file(pickled))
        weights_path_ = pickled;
  }
}

std::string Source::file(const std::string& name) const {
  std::error_code ignored;
  const fs::path path = fs::path(folder_) / name;
  if (!fs::is_regular_file(path, ignored)) return "";
  files_.insert(name);
  return path.string();
}

std::vector<std::string> Source::files_like(std::string_view begin, std::string_view end) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator at(folder_, ignored), last; at != last; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end) && at->is_regular_file(ignored)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

text::Tokenizer Source::taken(const text::ForeignTokenizer& tokenizer) const {
  for (const std::string& path : tokenizer.files) files_.insert(fs::path(path).filename().string());
  return text::Tokenizer::from_foreign(tokenizer);
}

ConfigFields Source::config() const {
  const std::string name = escaped((fs::path(folder_) / "config.json").string());
  if (config_.is_null()) fail(name, ": is missing: it says what the weights are");
  return ConfigFields(config_, name, options_.ignored_fields);
}

bool Source::has_weights() const {
  return io::is_array_file(weights_path_);
}

const io::ArrayFile& Source::weights() const {
  if (!weights_) {
    if (!has_weights()) {
      const bool pickled = !file(kPickledWeights).empty() || !file("pytorch_model.bin.index.json").empty();
      fail(escaped(path_), ": no weights that can be read, wanted model.safetensors",
           pickled ? ": pytorch_model.bin is in several files, or no zip archive as PyTorch writes since "
                     "1.6: save the model again by transformers' save_pretrained(folder, "
                     "safe_serialization=True)"
                   : "");
    }
    weights_ = io::ArrayFile::open(weights_path_);
    if (weights_path_ != folder_) {
      file(fs::path(weights_path_).filename().string());
    } else if (const std::string index = file("model.safetensors.index.json"); !index.empty()) {
      const Json shards = read_json_object(index);
      for (const auto& [tensor, shard] : shards.at("weight_map").items()) file(shard.get<std::string>());
    } else {
      file("model.safetensors");
    }
    for (std::size_t i = 0; i < weights_->arrays().size(); ++i) index_[weights_->arrays()[i].name] = i;
  }
  return *weights_;
}

void Source::join(const std::string& folder) const {
  weights();
  for (const char* name : {"model.safetensors", kPickledWeights}) {
    const std::string path = file(concat(folder, "/", name));
    if (path.empty()) continue;
    const std::size_t own = weights_->arrays().size();
    weights_ = std::make_unique<Joined>(std::move(weights_), io::ArrayFile::open(path), folder + "/");
    for (std::size_t i = own; i < weights_->arrays().size(); ++i) {
      const std::string& joined = weights_->arrays()[i].name;
      if (!index_.emplace(joined, i).second)
        fail(escaped(path), ": a tensor ", escaped(joined), " is in the weights beside it, too");
    }
    return;
  }
  fail(escaped(folder_), "/", escaped(folder), ": no weights that can be read, wanted model.safetensors");
}

std::optional<std::size_t> Source::find(const std::string& name) const {
  weights();
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

bool Source::tied(const std::string& copy, const std::string& original, const std::string& prefix) const {
  const auto at = [&](const std::string& name) {
    const auto found = find(name);
    return found || !name.starts_with(prefix) ? found : find(name.substr(prefix.size()));
  };
  const auto a = at(copy), b = at(original);
  if (!a || !b) return true;
  const std::vector<io::ArrayInfo>& arrays = weights().arrays();
  if (arrays[*a].type != arrays[*b].type || arrays[*a].shape != arrays[*b].shape) return false;
  return equal_bits(weights().read(*a), weights().read(*b));
}

text::Tokenizer fitted(const text::Tokenizer& tokenizer, std::int64_t rows, const SpecialIds& special,
                       const std::string& where, std::vector<std::string>& notes) {
  if (tokenizer.size() > rows)
    fail(where, ": ", tokenizer.size(), " pieces, but the weights have ", rows,
         " rows for them: do the files belong together?");
  if (tokenizer.size() < rows)
    notes.push_back(concat("the weights have ", rows, " rows for ", tokenizer.size(), " pieces: the other ",
                           rows - tokenizer.size(), " are <unused_0>, ... and are never produced"));
  SpecialIds ids = tokenizer.special();
  for (const SpecialName& each : kSpecialNames) {
    if (special.*each.id == SpecialIds::kAbsent) continue;
    ids.*each.id = special.*each.id;
  }
  ids.produces_unk = special.produces_unk;
  drop_impossible(ids, rows, notes);
  return tokenizer.fitted(rows, ids);
}

std::optional<text::Tokenizer> own_vocabulary(const Source& source, std::int64_t rows,
                                              const std::string& side) {
  const std::string own = source.file(kOwnVocabulary);
  if (own.empty()) return std::nullopt;
  text::Tokenizer tokenizer = text::Tokenizer::of_side(io::read_map(own), side);
  if (tokenizer.size() != rows)
    fail(escaped(own), ": has ", tokenizer.size(), " pieces of the ", side, " side, the model has ", rows);
  return tokenizer;
}

text::Tokenizer tokenizer_of(const Source& source, std::int64_t rows, const SpecialIds& special,
                             std::vector<std::string>& notes, const std::string& side) {
  // Before pieces are made for the rows: wrong settings must cost an error, not memory.
  const auto has_rows = [&](const io::ArrayInfo& array) {
    return std::ranges::find(array.shape, rows) != array.shape.end() && element_count(array.shape) >= rows;
  };
  if (std::ranges::none_of(source.weights().arrays(), has_rows))
    fail(escaped(source.path()), ": vocab_size is ", rows, ", but no tensor has so many rows");
  if (std::optional<text::Tokenizer> own = own_vocabulary(source, rows, side)) return *std::move(own);
  const auto has = [&](const char* name) {
    std::error_code ignored;
    return fs::is_regular_file(fs::path(source.path()) / name, ignored);
  };
  if (!text::has_sentencepiece_model(source.path()) && !has("tokenizer.json") && !has("vocab.txt") &&
      !has("vocab.json")) {
    notes.push_back("no tokenizer beside the weights: its pieces are the ids in digits");
    SpecialIds ids = special;
    drop_impossible(ids, rows, notes);
    return text::Tokenizer::of_ids(rows, ids);
  }
  const text::ForeignTokenizer found = text::read_foreign_tokenizer(source.path(), side, rows);
  std::vector<std::string> names;
  for (const std::string& name : found.left_out) names.push_back(concat('"', escaped(name), '"'));
  if (!names.empty())
    notes.push_back(concat("the weights have ", rows,
                           " rows, none of them for added tokens of the tokenizer: ", listed(names),
                           ", which are left out"));
  return fitted(source.taken(found), rows, special, escaped(source.path()), notes);
}

SpecialIds decoder_ids(ConfigFields& config, const DefaultIds& otherwise) {
  SpecialIds special = kNoSpecialIds;
  special.bos = config.id("bos_token_id", otherwise.bos);
  special.eos = config.id("eos_token_id", otherwise.eos);
  special.pad = config.id("pad_token_id", otherwise.pad);
  if (special.pad == special.bos || special.pad == special.eos)
    special.pad = SpecialIds::kAbsent;  // it only says what fills rows
  config.without_effect(
      "decoder_start_token_id forced_eos_token_id sep_token_id cls_token_id mask_token_id unk_token_id "
      "bad_words_ids");
  return special;
}

void state_decoder_ids(const SpecialIds& special, Json& config) {
  const auto state = [&](const char* name, std::int32_t id) {
    config[name] = id == SpecialIds::kAbsent ? Json() : Json(id);
  };
  state("bos_token_id", special.bos);
  state("eos_token_id", special.eos);
  state("pad_token_id", special.pad);
}

ForeignModel finish_decoder(const Source& source, ConfigFields& fields, DecoderOnlyConfig config,
                            const DefaultIds& ids, const DecoderNames& names, MakeMappings mappings) {
  ForeignModel found;
  const SpecialIds special = decoder_ids(fields, ids);
  if (const std::string ends =
          more_ends_of(source, fields, special.eos, config.target_vocab_size, found.notes);
      !ends.empty()) {
    found.search = SearchSettings{};
    found.search->more_ends = ends;
  }
  fields.finish();
  check_config(config);
  if (config.tied != "none" && !source.tied(names.scores, names.table, names.prefix)) {
    config.tied = "none";
    found.notes.push_back(concat(names.scores, " differs from ", names.table.substr(names.prefix.size()),
                                 ": they are not tied"));
  }
  found.config_json = to_json(config);
  found.mappings = mappings(config);
  found.target = tokenizer_of(source, config.target_vocab_size, special, found.notes);
  return found;
}

void scale_table(const TransformerOptions& config, const std::string& table, Exported& out) {
  if (config.embedding_scale != "1")
    out.factors[table] = static_cast<float>(std::sqrt(static_cast<double>(config.d_model)));
}

void finish_decoder(const LoadedModel& loaded, const DecoderOnlyConfig& config, const DecoderNames& names,
                    MakeMappings mappings, Exported& out, bool has_scale) {
  const bool has_table = config.tied != "none", is_scaled = !has_scale && config.embedding_scale != "1";
  out.mappings = mappings(config);
  if (is_scaled) scale_table(config, names.table, out);
  if (is_scaled && has_table)
    out.mappings.same(names.scores, {config.target_vocab_size, config.d_model}, "decoder/embedding/weight");
  out.config["tie_word_embeddings"] = has_table && !is_scaled;
  state_decoder_ids(loaded.target.special(), out.config);
  state_ends(search_settings_of(loaded.origin).value_or(SearchSettings{}), loaded.target.special().eos,
             out.config);
}

namespace {

const Field& field_named(const std::vector<Field>& config, const std::string& name) {
  const Field* field = find_field(config, name);
  if (!field) fail("no field ", name, " of this config: a defect of heed");
  return *field;
}

}  // namespace

void read_same(const std::vector<SameField>& list, ConfigFields& fields, const std::vector<Field>& config) {
  for (const auto& [theirs, ours, otherwise] : list) {
    const auto& value = field_named(config, ours).value;
    if (auto* number = std::get_if<std::int64_t*>(&value))
      **number = fields.number(theirs, otherwise.get<std::int64_t>());
    else if (auto* real = std::get_if<double*>(&value))
      **real = fields.real(theirs, otherwise.get<double>());
    else
      *std::get<bool*>(value) = fields.flag(theirs, otherwise.get<bool>());
  }
}

void state_same(const std::vector<SameField>& list, const std::vector<Field>& config, Json& out) {
  for (const SameField& same : list)
    std::visit([&](const auto* value) { out[same.theirs] = *value; }, field_named(config, same.ours).value);
}

void read_embedding_dropout(ConfigFields& fields, const char* name, DecoderOnlyConfig& config) {
  const double dropout = fields.real(name, 0);
  if (dropout < 0) fields.refuse(name, "at least 0");
  config.embedding_dropout = dropout == config.dropout ? -1 : dropout;
}

void state_embedding_dropout(const DecoderOnlyConfig& config, const char* name, Json& out) {
  out[name] = config.embedding_dropout < 0 ? config.dropout : config.embedding_dropout;
}

std::string origin_kind(const LoadedModel& loaded) {
  if (loaded.origin.empty()) return "";
  const Json origin = text::parse_bounded_json(loaded.origin, "model/origin");
  return origin.is_object() && origin.contains("kind") && origin["kind"].is_string()
             ? origin["kind"].get<std::string>()
             : "";
}

namespace {

Json value_in(const Field& field) {
  return std::visit([](const auto* value) { return Json(*value); }, field.value);
}

}  // namespace

Json Requirements::value_of(const std::string& field) const {
  return value_in(field_named(config_, field));
}

void Requirements::expect_defaults(const std::vector<Field>& defaults) {
  for (const Field& field : defaults)
    if (!field.of_training) unnamed_.emplace(field.name, value_in(field));
}

void Requirements::keep(std::string_view fields) {
  for (const std::string_view each : text::split_any(fields, " "))
    unnamed_.erase(field_named(config_, std::string(each)).name);
}

void Requirements::keep(const std::vector<SameField>& same) {
  for (const SameField& each : same) keep(each.ours);
}

bool Requirements::are_met() {
  for (const Field& field : config_)
    if (const auto found = unnamed_.find(field.name); found != unnamed_.end())
      want(field.name, {Json(found->second)});
  return reasons_.empty();
}

void Requirements::want(const std::string& field, const std::vector<Json>& values) {
  keep(field);
  const Json value = value_of(field);
  if (std::ranges::find(values, value) != values.end()) return;
  const auto shown = [](const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  };
  std::vector<std::string> words;
  for (const Json& each : values) words.push_back(shown(each));
  reasons_.push_back(concat(field, " is ", shown(value), ", wanted ", alternatives(words)));
}

void Requirements::want(std::string_view all) {
  for (const std::string_view each : text::split_any(all, " ")) {
    const std::size_t end = each.find('=');
    const std::string field(each.substr(0, end));
    const bool is_word = value_of(field).is_string();
    std::vector<Json> values;
    for (const std::string_view word : text::split_any(each.substr(end + 1), "|"))
      values.push_back(is_word ? Json(word) : Json::parse(word));
    want(field, values);
  }
}

void Requirements::want_multiple_of_heads() {
  const std::int64_t d = value_of("d_model"), n_heads = value_of("n_heads");
  if (d % n_heads) reasons_.push_back(concat("d_model = ", d, " is not a multiple of n_heads = ", n_heads));
}

void Requirements::want_usual_heads() {
  want_multiple_of_heads();
  want("d_head", {0, value_of("d_model").get<std::int64_t>() / value_of("n_heads").get<std::int64_t>()});
}

void Requirements::want_own_keys() {
  want("n_kv_heads", {0, value_of("n_heads")});
}

std::string Requirements::word(const std::string& field,
                               std::initializer_list<std::pair<const char*, const char*>> words) {
  keep(field);
  const std::string value = value_of(field);
  std::vector<std::string> known;
  for (const auto& [ours, theirs] : words) {
    if (value == ours) return theirs;
    known.emplace_back(ours);
  }
  reasons_.push_back(concat(field, " is ", value, ", wanted ", alternatives(known)));
  return "";
}

bool are_equal(const ParameterSet<float>& parameters, const std::string& one, const std::string& other) {
  const Matrix<const float> a = parameters.view(one), b = parameters.view(other);
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (!std::equal(a.row(i), a.row(i) + a.cols, b.row(i))) return false;
  return true;
}

void check_sinusoids(const Source& source, const std::string& name, std::int64_t rows, std::int64_t d) {
  const std::string where = concat(escaped(source.path()), ":/", name);
  const std::size_t index = *source.find(name);
  // Before computing the formula: wrong settings must cost an error, not memory.
  expect_shape(where, source.weights().arrays()[index].shape, {rows, d});
  const Tensor stored = source.weights().read(index);
  const auto wanted = sinusoidal_positions<float>(rows, d, Positions::sinusoidal_halves);
  if (stored.dtype() != DType::f32) fail(where, ": wanted float32");
  // bfloat16 rounds what is below 1 by up to 2^-9, float16 by 2^-12.
  const double most = source.weights().arrays()[index].type == "bfloat16" ? 3e-3 : 1e-3;
  const auto values = stored.values<float>();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(values[i] - wanted[i]) <= most))
      fail(where, ": element ", i, " is ", values[i], ", the sinusoids have ", wanted[i],
           ": other positions are not supported");
}

void read_classes(ConfigFields& fields, EncoderOnlyConfig& config) {
  const Json& labels = fields.get("id2label");
  config.n_classes =
      labels.is_object() ? static_cast<std::int64_t>(labels.size()) : fields.number("num_labels", 2);
  const bool one = config.n_classes == 1;
  config.problem_type = fields.choice(
      "problem_type", one ? "multi_label_classification" : "single_label_classification", kProblems);
  if (config.n_classes < 1 || (one && config.problem_type == "single_label"))
    fields.refuse("id2label", one ? "at least 2 classes, of which one is the sentence's" : "a class");
}

void state_classes(const LoadedModel& loaded, const EncoderOnlyConfig& config, Json& out) {
  for (const auto& [theirs, ours] : kProblems)
    if (config.problem_type == ours) out["problem_type"] = theirs;
  for (std::size_t i = 0; i < loaded.classes.size(); ++i) {
    out["id2label"][std::to_string(i)] = loaded.classes[i];
    out["label2id"][loaded.classes[i]] = i;
  }
}

std::vector<std::string> class_names(ConfigFields& config, std::int64_t n_classes) {
  const Json& labels = config.get("id2label");
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < n_classes; ++i) {
    const std::string key = std::to_string(i);
    const bool named = labels.is_object() && labels.contains(key) && labels[key].is_string();
    names.push_back(named ? labels[key].get<std::string>() : key);
    if (escaped(names.back(), names.back().size() + 1) != names.back())
      config.refuse(concat("id2label.", key, " is \"", escaped(names.back()),
                           "\", wanted a name without control characters"));
  }
  return names;
}

}  // namespace heed::foreign
