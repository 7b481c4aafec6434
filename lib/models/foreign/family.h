// A family of foreign models is a file of its own that says how to recognise it, what heed's config is for its settings, and
// which tensor is which parameter; families.cpp lists them all. What they have in common, reading, checks, reports, is
// in import.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/special_ids.h"
#include "io/foreign/array_file.h"
#include "models/foreign/config_fields.h"
#include "models/foreign/mapping.h"
#include "models/search_settings.h"
#include "text/tokenizer.h"

namespace heed {
struct LoadedModel;
struct DecoderOnlyConfig;
struct EncoderOnlyConfig;
struct TransformerOptions;
}  // namespace heed

namespace heed::foreign {

/// What a user overrules.
struct ImportOptions {
  std::vector<std::string> ignored_tensors;  ///< globs
  std::vector<std::string> ignored_fields;
  bool says_notes = false;    ///< what was repaired or made up; else only to those who want all words
  bool states_files = false;  ///< the model's origin has the SHA-256 of each file that it was made from
};

/// What is to be imported: a folder with config.json and weights, or a lone file of weights (Marian's .npz).
class Source {
 public:
  Source(std::string path, ImportOptions options);

  const std::string& path() const { return path_; }
  const ImportOptions& options() const { return options_; }
  /// The path of a file in the folder (beside a lone file); empty when there is none.
  std::string file(const std::string& name) const;
  /// The tokenizer of such files.
  text::Tokenizer taken(const text::ForeignTokenizer& tokenizer) const;
  /// All files that these gave: their names in the folder.
  const std::set<std::string>& files() const { return files_; }
  /// config.json's model_type; empty when there is none.
  const std::string& model_type() const { return model_type_; }
  bool has_config() const { return !config_.is_null(); }
  /// All fields of config.json.
  ConfigFields config() const;
  /// Whether there is a file that looks like weights.
  bool has_weights() const;
  /// The weights. Throws Error naming what is wanted when there are none.
  const io::ArrayFile& weights() const;

  /// The index of a tensor of the weights, by its name in the file.
  std::optional<std::size_t> find(const std::string& name) const;
  bool has(const std::string& name) const { return find(name).has_value(); }
  /// Joins the weights of a folder within this one to its own, as "FOLDER/NAME".
  void join(const std::string& folder) const;
  /// Whether `copy`, which may be missing, is bit for bit `original`; either with or without `prefix`.
  bool tied(const std::string& copy, const std::string& original, const std::string& prefix = {}) const;

 private:
  std::string path_, weights_path_, folder_, model_type_;
  ImportOptions options_;
  Json config_;  ///< null: there is none
  mutable std::unique_ptr<io::ArrayFile> weights_;
  mutable std::map<std::string, std::size_t> index_;
  mutable std::set<std::string> files_;
};

/// What a family finds in a source.
struct ForeignModel {
  std::string kind;         ///< for users: "GPT-2", "Marian (HF)"
  std::string config_json;  ///< heed's, architecture included
  Mappings mappings;
  /// Those of the sides that the model has; both the same where one is for both.
  std::optional<text::Tokenizer> source, target;
  std::vector<std::string> classes;
  /// Choices that origin and settings decided, for the model's record: {"norm_epsilon", "1e-6"}.
  std::vector<std::pair<std::string, std::string>> formulas;
  std::optional<SearchSettings> search;  ///< how the source searches, where it says so
  std::vector<std::string> notes;        ///< said once: what was repaired or made up
};

/// A model of heed as a family has it.
struct Exported {
  Json config;  ///< config.json: architectures and model_type included
  Mappings mappings;
  std::map<std::string, float>
      factors;  ///< of source tensors, by name, where heed scales and the family does not
  /// Further files of the folder: name, content.
  std::vector<std::pair<std::string, std::string>> files;
  /// Where its program has no such: the name of NumPy's archive that the weights go into in place of model.safetensors and
  /// config.json, and of the bytes in it that are the settings.
  std::string archive, settings_name, settings;
  bool has_tokenizer = false;  ///< among them, or it has none; else there is tokenizer.json, where it can be
};

/// One that is known (families.h).
struct Family {
  const char* name;
  /// By content, never by the path. Must be cheap, and may not throw.
  bool (*recognises)(const Source&);
  /// Throws Error with all reasons when this one cannot be imported.
  ForeignModel (*describe)(const Source&);
  /// The inverse. Where it has no such model it adds why to the reasons; none of its architecture: nothing. null: there is
  /// no way back.
  std::optional<Exported> (*express)(const LoadedModel&, std::vector<std::string>& reasons) = nullptr;
};

/// All there are.
const std::vector<Family>& families();

/// Beside an exported model whose vocabulary no file of other programs can hold: a vocabulary file of heed's.
inline constexpr char kOwnVocabulary[] = "heed_vocabulary.h5";

/// Sockeye's weights, in a folder without config.json.
inline constexpr char kSockeyeWeights[] = "params.best";

/// The tokenizer files of the folder as a tokenizer with one piece for each of `rows`: further rows of the tables become
/// "<unused_0>", ..., which nothing produces; too few rows are an error. `special` overrules what the files say, where
/// it is present. `side`: of a folder with two. Without files pieces are the ids in digits, "17", and text is ids between spaces; a note says so.
text::Tokenizer tokenizer_of(const Source& source, std::int64_t rows, const SpecialIds& special,
                             std::vector<std::string>& notes, const std::string& side = "source");
/// Of heed_vocabulary.h5 in the folder, for these rows; none where it is not there.
std::optional<text::Tokenizer> own_vocabulary(const Source& source, std::int64_t rows,
                                              const std::string& side);
/// The same for a tokenizer that a family has read itself.
text::Tokenizer fitted(const text::Tokenizer& tokenizer, std::int64_t rows, const SpecialIds& special,
                       const std::string& where, std::vector<std::string>& notes);
/// bos, eos and pad of a decoder alone: bos_token_id, eos_token_id, pad_token_id; the first two where they are missing. Of
/// several eos the first; the others are more_ends_of() (generation.h).
SpecialIds decoder_ids(ConfigFields& config, std::int32_t bos, std::int32_t eos);
/// The same as fields of config.json, those that are there.
void state_decoder_ids(const SpecialIds& special, Json& config);
/// Puts the factor of the embeddings, which other programs do not have, into `table`. Returns whether the model is still tied: the
/// scores of words are by the table without it.
bool untie_scaled(const DecoderOnlyConfig& config, const std::string& table, Exported& out);
/// What export asks of the fields of a config: states why not, field by field.
class Requirements {
 public:
  explicit Requirements(std::vector<std::string>& reasons) : reasons_(reasons) {}
  template <class T>
  void want(const char* field, const T& value, std::initializer_list<T> wanted) {
    for (const T& each : wanted)
      if (value == each) return;
    std::vector<std::string> words;
    for (const T& each : wanted) words.push_back(concat(each));
    reasons_.push_back(concat(field, " is ", value, ", wanted ", alternatives(words)));
  }
  /// The layers that BERT, GPT-2 and Marian share, but for activation, positions, norms and what scales.
  void want_classic_layers(const TransformerOptions& options);
  /// Their word for one of ours: {{"gelu_tanh", "gelu_new"}, ...}.
  std::string word(const char* field, const std::string& value,
                   std::initializer_list<std::pair<const char*, const char*>> words);

 private:
  std::vector<std::string>& reasons_;
};
/// Throws Error unless a tensor [rows, d] has the sinusoids in halves (nn/positional_encoding.h).
void check_sinusoids(const Source& source, const std::string& name, std::int64_t rows, std::int64_t d);
/// Names of classes from id2label; {"0", "1", ...} where it is missing.
std::vector<std::string> class_names(ConfigFields& config, std::int64_t n_classes);
/// How many classes there are and what their scores are: id2label or num_labels, and problem_type. Where one class is all and the
/// latter is missing, its probability, as the pipelines of transformers have it.
void read_classes(ConfigFields& fields, EncoderOnlyConfig& config);
/// The same as fields of config.json.
void state_classes(const LoadedModel& loaded, const EncoderOnlyConfig& config, Json& out);

/// What problem_type says, in transformers and in heed.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kProblems{
    {"single_label_classification", "single_label"},
    {"multi_label_classification", "multi_label"},
    {"regression", "regression"}};

/// What transformers calls activations, and heed. Its three approximations by tanh are one formula.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kActivations{
    {"gelu", "gelu"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"quick_gelu", "gelu_sigmoid"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"swish", "silu"}};

/// And what heed's activations are called in an export of them, or of GPT-2.
inline constexpr std::initializer_list<std::pair<const char*, const char*>> kExportedActivations{
    {"gelu", "gelu"},
    {"gelu_tanh", "gelu_new"},
    {"gelu_sigmoid", "quick_gelu"},
    {"relu", "relu"},
    {"silu", "silu"}};

inline constexpr SpecialIds kNoSpecialIds{-1, -1, -1, -1, -1, -1, -1};

}  // namespace heed::foreign
