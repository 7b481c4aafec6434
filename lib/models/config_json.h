// Config structs to JSON and back. The JSON of a model names its architecture: {"architecture":
// "transformer", ...}.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "models/model.h"

namespace heed {

/// `defaults`: the same fields at their defaults; optional fields equal to them are omitted.
std::string to_json(const std::string& architecture, const std::vector<Field>& fields,
                    const std::vector<Field>& defaults);
/// The JSON of a whole config.
template <class Config>
std::string to_json(const Config& config) {
  Config copy = config, plain;
  return to_json(Config::kArchitecture, fields_of(copy), fields_of(plain));
}

/// Sets the fields named in `json`; fields not named keep their values. Throws Error on unknown names, wrong
/// types and values outside a field's choices.
void from_json(const std::string& json, const std::vector<Field>& fields);

/// The value of a field as JSON.
std::string to_json(const Field& field);

/// The "architecture" of a model's JSON. Throws Error when there is none.
std::string architecture_of(const std::string& json);

/// Throws UsageError if a field is out of its range, or the fields contradict each other.
template <class Config>
void check_config(const Config& config) {
  check_ranges(config);
  if constexpr (requires { config.check(); }) config.check();
}

/// A model with this config, without parts and parameters. Throws UsageError as check_config does.
template <class T, class Config>
std::unique_ptr<Model<T>> new_model(const Config& config) {
  check_config(config);
  auto model = std::make_unique<Model<T>>();
  model->architecture = Config::kArchitecture;
  model->config_json = to_json(config);
  return model;
}

}  // namespace heed
