// The settings of another program's model, config.json, read so that none goes unnoticed: each field is read, or is known
// to have no effect on what the model computes, or is a reason not to import it. Reasons are collected, so that one
// message names them all. A field that is missing, or null, has the default of the class that wrote the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed::foreign {

using Json = nlohmann::json;

/// An option of the import names what is not there.
class OptionError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Reasons in one message, not more than these.
inline constexpr std::size_t kMostListed = 20;
std::string listed(const std::vector<std::string>& reasons);

/// The JSON of a file. Throws Error when it is none, or nested too deeply.
Json read_json(const std::string& path);
/// Likewise an object.
Json read_json_object(const std::string& path);

class ConfigFields {
 public:
  /// `where` is the file, for messages. `ignored` fields count as missing; they are named as messages name them.
  ConfigFields(Json json, std::string where, const std::vector<std::string>& ignored = {});

  /// Whether it is stated, and not null.
  bool has(const std::string& name) const;
  /// Whether it is stated to be null, which for some fields is not their default.
  bool states_null(const std::string& name) const { return json_.contains(name) && json_.at(name).is_null(); }
  /// null when it is missing. The caller checks what it is.
  const Json& get(const std::string& name);

  // A value of the wrong kind is a reason; the default stands in for it. Without a default the field must be there.
  /// An integer, not negative.
  std::int64_t number(const std::string& name, std::optional<std::int64_t> otherwise = {});
  double real(const std::string& name, std::optional<double> otherwise = {});
  bool flag(const std::string& name, std::optional<bool> otherwise = {});
  std::string word(const std::string& name, std::optional<std::string> otherwise = {});
  /// An id, or the first of a list of ids; SpecialIds::kAbsent when there is none.
  std::int32_t id(const std::string& name, std::optional<std::int32_t> otherwise = {});
  /// What heed calls one of their words: {{"gelu_new", "gelu_tanh"}, ...}. `otherwise` is theirs.
  std::string choice(const std::string& name, const std::string& otherwise,
                     std::initializer_list<std::pair<const char*, const char*>> words);

  /// Anything but these values is a reason; a missing field is none.
  void expect(const std::string& name, std::initializer_list<Json> supported);
  /// They say nothing about what the model computes.
  void without_effect(std::initializer_list<const char*> names);
  /// Likewise those that any model may have: file formats, training, settings of a call.
  void without_effect_in_any_model();
  /// A reason: the field's value is not what is wanted.
  void refuse(const std::string& name, const std::string& wanted);
  /// A reason in its own words.
  void refuse(const std::string& reason);

  /// An object in a field, an empty one when it is missing. Its reasons must be given back by merge().
  ConfigFields object(const std::string& name);
  /// Likewise the fields of another file, which messages name "file/field".
  ConfigFields beside(const std::string& file, Json json) const;
  void merge(const ConfigFields& object);

  const std::string& where() const { return where_; }
  /// Throws Error with all reasons, unknown fields among them, and OptionError when an ignored field was nowhere.
  void finish() const;

 private:
  ConfigFields within(Json json, const std::string& prefix) const;
  void leave_out_ignored();
  const Json* find(const std::string& name);
  /// Fields that nothing asked for.
  std::vector<std::string> unknown() const;

  Json json_;
  std::string where_, prefix_;
  std::set<std::string> known_;
  std::vector<std::string> reasons_;
  std::shared_ptr<std::set<std::string>> ignored_;  ///< those not seen yet, in this object or those in it
};

}  // namespace heed::foreign
