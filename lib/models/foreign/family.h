// A family of foreign models is a file that defines how to recognise a folder, the heed config for its
// settings, and the mapping of tensors to parameters; families.cpp lists them all. The common part, reading,
// checks and reports, is in import.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/special_ids.h"
#include "io/foreign/array_file.h"
#include "models/foreign/config_fields.h"
#include "models/foreign/mapping.h"
#include "models/search_settings.h"
#include "nn/parameters.h"
#include "text/tokenizer.h"

namespace heed {
struct LoadedModel;
struct DecoderOnlyConfig;
struct EncoderOnlyConfig;
struct TransformerOptions;
}  // namespace heed

namespace heed::foreign {

/// Name of the output projection, which scores the words, in every family with one.
inline constexpr char kWordScores[] = "lm_head.weight";

/// Options with which the user overrides the import.
struct ImportOptions {
  std::vector<std::string> ignored_tensors;  ///< globs
  std::vector<std::string> ignored_fields;
  bool says_notes = false;    ///< repairs and defaults are notes; otherwise only with --verbose
  bool states_files = false;  ///< the model's origin has the SHA-256 of each file it was made from
};

/// The source of an import: a folder with config.json and weights, or a single file of weights (Marian's
/// own).
class Source {
 public:
  Source(std::string path, ImportOptions options);

  const std::string& path() const { return path_; }
  const ImportOptions& options() const { return options_; }
  /// The path of a file in the folder (or beside the single file); empty if there is none.
  std::string file(const std::string& name) const;
  /// The names of the files there that begin and end so, sorted.
  std::vector<std::string> files_like(std::string_view begin, std::string_view end) const;
  /// The tokenizer, after recording its files in files().
  text::Tokenizer taken(const text::ForeignTokenizer& tokenizer) const;
  /// The names of all files used, relative to the folder.
  const std::set<std::string>& files() const { return files_; }
  /// config.json's model_type; empty if there is none.
  const std::string& model_type() const { return model_type_; }
  bool has_config() const { return !config_.is_null(); }
  /// All fields of config.json.
  ConfigFields config() const;
  /// Whether there is a file that looks like weights.
  bool has_weights() const;
  /// The weights. Throws Error naming what is wanted if there are none.
  const io::ArrayFile& weights() const;

  /// The index of a tensor of the weights, by its name in the file.
  std::optional<std::size_t> find(const std::string& name) const;
  bool has(const std::string& name) const { return find(name).has_value(); }
  /// Adds the weights of a subfolder, as "FOLDER/NAME".
  void join(const std::string& folder) const;
  /// Whether `copy`, which may be missing, equals `original` bit for bit; either may have the name with or
  /// without `prefix`.
  bool tied(const std::string& copy, const std::string& original, const std::string& prefix = {}) const;

 private:
  std::string path_, weights_path_, folder_, model_type_;
  ImportOptions options_;
  Json config_;  ///< null: there is none
  mutable std::unique_ptr<io::ArrayFile> weights_;
  mutable std::map<std::string, std::size_t> index_;
  mutable std::set<std::string> files_;
};

/// The result of recognising a source.
struct ForeignModel {
  std::string kind;         ///< for users: "GPT-2", "Marian (HF)"
  std::string config_json;  ///< heed's, architecture included
  Mappings mappings;
  /// For the sides that the model has; a shared tokenizer is in both.
  std::optional<text::Tokenizer> source, target;
  std::vector<std::string> classes;
  /// Choices that were determined by the source and its settings, for the model's record: {"norm_epsilon",
  /// "1e-6"}.
  std::vector<std::pair<std::string, std::string>> formulas;
  std::optional<SearchSettings> search;  ///< the source's search settings, if it states them
  std::vector<std::string> notes;        ///< printed once: what was repaired or assumed
};

/// A heed model in a family's format.
struct Exported {
  Json config;  ///< config.json: architectures and model_type included
  Mappings mappings;
  std::map<std::string, float>
      factors;  ///< scale factors of source tensors, by name, that heed has and the family has not
  /// Further files of the folder: name, content.
  std::vector<std::pair<std::string, std::string>> files;
  /// For programs with another format: the name of the NumPy archive that holds the weights in place of
  /// model.safetensors and config.json, and of the bytes in it with the settings.
  std::string archive, settings_name, settings;
  bool has_tokenizer = false;  ///< the files include it, or there is none; else tokenizer.json is written
};

/// A known family (families.h).
struct Family {
  const char* name;
  /// By content, never by path. Must be cheap and not throw.
  bool (*recognises)(const Source&);
  /// Throws Error with all reasons if this source cannot be imported.
  ForeignModel (*describe)(const Source&);
  /// The inverse. If the family has no such model, adds the reasons, or nothing if the architecture is
  /// another; null: export is not supported.
  std::optional<Exported> (*express)(const LoadedModel&, std::vector<std::string>& reasons) = nullptr;
};

/// All known families.
const std::vector<Family>& families();

/// Stored beside an exported model whose vocabulary cannot be expressed in another program's files: a heed
/// vocabulary file.
inline constexpr char kOwnVocabulary[] = "heed_vocabulary.h5";

/// The name of Sockeye's weights, in a folder without config.json.
inline constexpr char kSockeyeWeights[] = "params.best";

/// The tokenizer from the folder's files, with one piece for each of `rows`: further rows become
/// "<unused_0>", ..., which are never produced; too few rows are an error. Present ids in `special` override
/// the files. `side`: of a folder with two tokenizers. Without files, pieces are the ids in digits, "17", and
/// text is ids between spaces; a note says so.
text::Tokenizer tokenizer_of(const Source& source, std::int64_t rows, const SpecialIds& special,
                             std::vector<std::string>& notes, const std::string& side = "source");
/// The tokenizer in the folder's heed_vocabulary.h5, for these rows; none if there is no such file.
std::optional<text::Tokenizer> own_vocabulary(const Source& source, std::int64_t rows,
                                              const std::string& side);
/// A tokenizer that a family has read itself, fitted to these rows and special ids.
text::Tokenizer fitted(const text::Tokenizer& tokenizer, std::int64_t rows, const SpecialIds& special,
                       const std::string& where, std::vector<std::string>& notes);
/// Special ids of a family's models if config.json has none.
struct DefaultIds {
  std::int32_t bos = SpecialIds::kAbsent, eos = SpecialIds::kAbsent, pad = SpecialIds::kAbsent;
};
/// bos, eos and pad of a decoder alone: bos_token_id, eos_token_id, pad_token_id. Of several eos the first; the
/// others are more_ends_of() (generation.h).
SpecialIds decoder_ids(ConfigFields& config, const DefaultIds& otherwise);
/// Writes those ids that are present as fields of config.json.
void state_decoder_ids(const SpecialIds& special, Json& config);
/// The names of a decoder alone.
struct DecoderNames {
  std::string table;                 ///< of its embeddings
  std::string prefix;                ///< of that name, which a file may lack
  std::string scores = kWordScores;  ///< may be a copy of the table
};
using MakeMappings = Mappings (*)(const DecoderOnlyConfig&);
/// Completes the import of a decoder alone whose fields but special ids have been read.
ForeignModel finish_decoder(const Source& source, ConfigFields& fields, DecoderOnlyConfig config,
                            const DefaultIds& ids, const DecoderNames& names, MakeMappings mappings);
/// Completes its export: mappings, ties, special ids and ends. The embedding scale, unless the family `has_scale`,
/// is multiplied into the table; the output scores then use the table without the scale.
void finish_decoder(const LoadedModel& loaded, const DecoderOnlyConfig& config, const DecoderNames& names,
                    MakeMappings mappings, Exported& out, bool has_scale = false);
/// Multiplies the embedding scale into the table of a program that has none.
void scale_table(const TransformerOptions& config, const std::string& table, Exported& out);
/// A field of config.json, and the field of heed's config that holds the same number or flag.
struct SameField {
  const char* theirs;
  const char* ours;
  Json otherwise;  ///< if theirs is missing
};
/// Imports and exports the fields of such a list; `config`: fields_of() the config.
void read_same(const std::vector<SameField>& list, ConfigFields& fields, const std::vector<Field>& config);
void state_same(const std::vector<SameField>& list, const std::vector<Field>& config, Json& out);

/// Reads a field with the dropout on the embeddings, 0 if missing, and writes it. heed's -1, the dropout of
/// the layers, which must have been read before, is no value of theirs.
void read_embedding_dropout(ConfigFields& fields, const char* name, DecoderOnlyConfig& config);
void state_embedding_dropout(const DecoderOnlyConfig& config, const char* name, Json& out);

/// What a model was imported as (ForeignModel::kind), perhaps fine-tuned since; empty: it was not imported.
std::string origin_kind(const LoadedModel& loaded);

/// The requirements of an export on the fields of a config: collects the reasons why not, field by field. Every
/// field of the config is named here, by keep, want or word, or must have its default: no exporter loses an option
/// because it does not know of it. Settings of training alone are free.
class Requirements {
 public:
  template <class Config>
  Requirements(Config& config, std::vector<std::string>& reasons)
      : config_(fields_of(config)), reasons_(reasons) {
    Config plain;
    expect_defaults(fields_of(plain));
  }
  /// The other program has these fields, with spaces between them, whatever their values, or what they set is of no
  /// effect on such a model.
  void keep(std::string_view fields);
  void keep(const std::vector<SameField>& same);
  /// Requires one of these values.
  void want(const std::string& field, const std::vector<Json>& values);
  /// The same of several fields, with spaces between them: "norm=pre final_norm=by_norm|yes".
  void want(std::string_view all);
  /// Requires heads that divide d_model, whatever their width: some programs read no others.
  void want_multiple_of_heads();
  /// Requires heads that are d_model / n_heads wide.
  void want_usual_heads();
  /// Requires that each head has keys and values of its own.
  void want_own_keys();
  /// Their word for one of heed's: {{"gelu_tanh", "gelu_new"}, ...}.
  std::string word(const std::string& field,
                   std::initializer_list<std::pair<const char*, const char*>> words);
  /// Requires the defaults of all fields that nothing above named. Whether there is no reason against the export.
  bool are_met();

 private:
  Json value_of(const std::string& field) const;
  void expect_defaults(const std::vector<Field>& defaults);

  const std::vector<Field> config_;
  std::map<std::string, Json> unnamed_;  ///< the fields that nothing has named so far, and their defaults
  std::vector<std::string>& reasons_;
};
/// Whether two parameters have the same shape and values.
bool are_equal(const ParameterSet<float>& parameters, const std::string& one, const std::string& other);
/// Throws Error unless a tensor [rows, d] holds the sinusoids in halves (nn/positional_encoding.h).
void check_sinusoids(const Source& source, const std::string& name, std::int64_t rows, std::int64_t d);
/// Names of classes from id2label; {"0", "1", ...} if missing.
std::vector<std::string> class_names(ConfigFields& config, std::int64_t n_classes);
/// Reads the number of classes and the meaning of their scores: id2label or num_labels, and problem_type. A
/// single class without problem_type is a probability, as in transformers' pipelines.
void read_classes(ConfigFields& fields, EncoderOnlyConfig& config);
/// Writes them as fields of config.json.
void state_classes(const LoadedModel& loaded, const EncoderOnlyConfig& config, Json& out);

/// The words of problem_type, in transformers and in heed.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kProblems{
    {"single_label_classification", "single_label"},
    {"multi_label_classification", "multi_label"},
    {"regression", "regression"}};

/// The names of activations, in transformers and in heed. transformers' three approximations by tanh are one
/// formula.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kActivations{
    {"gelu", "gelu"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"quick_gelu", "gelu_sigmoid"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"swish", "silu"}};

/// The names of heed's activations in an export to these families, or to GPT-2.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kExportedActivations{
    {"gelu", "gelu"},
    {"gelu_tanh", "gelu_new"},
    {"gelu_sigmoid", "quick_gelu"},
    {"relu", "relu"},
    {"silu", "silu"}};

}  // namespace heed::foreign
