#include "models/config_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/bounded_json.h"

namespace heed {

namespace {

using Json = nlohmann::json;
constexpr const char* kArchitecture = "architecture";

Json parse(const std::string& config) {
  Json json = text::parse_bounded_json(config, "model config");
  if (!json.is_object()) fail("model config: not a JSON object: ", escaped(config));
  return json;
}

struct Assign {
  const Field& field;
  const Json& value;
  void operator()(bool* v) const {
    if (!value.is_boolean()) wrong("true or false");
    *v = value;
  }
  void operator()(std::int64_t* v) const {
    if (!value.is_number_integer()) wrong("an integer");
    *v = value;
  }
  void operator()(double* v) const {
    if (!value.is_number()) wrong("a number");
    *v = value;
  }
  void operator()(std::string* v) const {
    const auto& choices = field.choices;
    if (!value.is_string()) wrong("a string");
    *v = value;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *v) == choices.end())
      wrong("one of its choices");
  }
  [[noreturn]] void wrong(const char* wanted) const {
    fail("model config: ", field.name, " is ", escaped(value.dump()), ", wanted ", wanted);
  }
};

}  // namespace

std::string to_json(const Field& field) {
  return std::visit([](const auto* value) { return Json(*value).dump(); }, field.value);
}

std::string to_json(const std::string& architecture, const std::vector<Field>& fields,
                    const std::vector<Field>& defaults) {
  nlohmann::ordered_json json;
  json[kArchitecture] = architecture;
  for (const Field& f : fields) {
    const Field* plain = f.optional ? find_field(defaults, f.name) : nullptr;
    std::visit(
        [&](auto* v) {
          if (!plain || *v != *std::get<decltype(v)>(plain->value)) json[f.name] = *v;
        },
        f.value);
  }
  return json.dump(2);
}

void from_json(const std::string& text, const std::vector<Field>& fields) {
  const Json json = parse(text);
  for (const auto& [name, value] : json.items()) {
    if (name == kArchitecture) continue;
    const auto field = std::ranges::find(fields, name, &Field::name);
    if (field == fields.end())
      fail("model config: unknown field ", escaped(name), ": written by a newer version?");
    std::visit(Assign{*field, value}, field->value);
  }
}

std::string architecture_of(const std::string& text) {
  const Json json = parse(text);
  if (!json.contains(kArchitecture) || !json[kArchitecture].is_string())
    fail("model config: no architecture stated");
  return json[kArchitecture];
}

}  // namespace heed
