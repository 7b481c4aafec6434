// The settings of another program's model, config.json, read so that none is overlooked: each field is either
// read, known to have no effect on what the model computes, or a reason not to import it. Reasons are
// collected, so that one message names them all. A field that is missing or null has the default of the class
// that wrote the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed::foreign {

using Json = nlohmann::json;

/// An option of the import names something that is not there.
class OptionError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The maximal number of reasons in one message.
inline constexpr std::size_t kMostListed = 20;
std::string listed(const std::vector<std::string>& reasons);

/// The JSON of a file. Throws Error if it is invalid or nested too deeply.
Json read_json(const std::string& path);
/// The JSON object of a file. Throws Error as read_json does.
Json read_json_object(const std::string& path);

class ConfigFields {
 public:
  /// `where` is the file, for messages. `ignored` fields, named as in messages, count as missing.
  ConfigFields(Json json, std::string where, const std::vector<std::string>& ignored = {});

  /// Whether the field is stated and not null.
  bool has(const std::string& name) const;
  /// Whether the field is stated to be null, which for some fields is not their default.
  bool states_null(const std::string& name) const { return json_.contains(name) && json_.at(name).is_null(); }
  /// null if missing. The caller checks the type.
  const Json& get(const std::string& name);

  // A value of the wrong type is a reason; the default replaces it. Without a default the field is required.
  /// A non-negative integer.
  std::int64_t number(const std::string& name, std::optional<std::int64_t> otherwise = {});
  double real(const std::string& name, std::optional<double> otherwise = {});
  bool flag(const std::string& name, std::optional<bool> otherwise = {});
  std::string word(const std::string& name, std::optional<std::string> otherwise = {});
  /// An id, or the first of a list of ids; SpecialIds::kAbsent if there is none.
  std::int32_t id(const std::string& name, std::optional<std::int32_t> otherwise = {});
  /// heed's word for one of theirs: {{"gelu_new", "gelu_tanh"}, ...}. `otherwise` is their word for the
  /// default.
  std::string choice(const std::string& name, const std::string& otherwise,
                     std::initializer_list<std::pair<const char*, const char*>> words);

  /// Any other value is a reason; a missing field is not.
  void expect(const std::string& name, std::initializer_list<Json> supported);
  /// Fields, with spaces between their names, that do not affect what the model computes.
  void without_effect(std::string_view names);
  /// Fields of any model that do not affect what it computes: file formats, training, settings of a call.
  void without_effect_in_any_model();
  /// Adds a reason: the field's value is not the wanted one.
  void refuse(const std::string& name, const std::string& wanted);
  /// Adds a reason in its own words.
  void refuse(const std::string& reason);

  /// The object in a field, empty if missing. Give its reasons back with merge().
  ConfigFields object(const std::string& name);
  /// The fields of another file, which messages name "file/field".
  ConfigFields beside(const std::string& file, Json json) const;
  void merge(const ConfigFields& object);

  const std::string& where() const { return where_; }
  /// Throws Error with all reasons, including unknown fields, and OptionError if an ignored field was not
  /// found anywhere.
  void finish() const;

 private:
  ConfigFields within(Json json, const std::string& prefix) const;
  void leave_out_ignored();
  const Json* find(const std::string& name);
  /// Fields that were never read.
  std::vector<std::string> unknown() const;

  Json json_;
  std::string where_, prefix_;
  std::set<std::string> known_;
  std::vector<std::string> reasons_;
  std::shared_ptr<std::set<std::string>> ignored_;  ///< not found yet, in this object or nested ones
};

}  // namespace heed::foreign
