// A config struct lists its fields once:
//
//   struct SizeConfig {
//     std::int64_t d_model = 512;
//     std::string norm = "post";
//     template <class Self, class Visit>
//     static void fields(Self& self, Visit&& field) {
//       field("d_model", self.d_model, "width of the model", up_to(65'536));
//       field("norm", self.norm, "layer normalisation after or before each sublayer", {"post", "pre"});
//     }
//   };
//
// lib/cli turns the list into options (--d-model, --norm), models/config_json into JSON. Field types: bool,
// std::int64_t, double, std::string. The optional last argument restricts the values: a list of strings, or a
// Range of numbers. lib/cli checks options as they are read; check_ranges checks values from elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/range.h"

namespace heed {

/// One field of a config struct, independent of the struct's type.
struct Field {
  std::string name;
  std::variant<bool*, std::int64_t*, double*, std::string*> value;
  std::string help;
  std::vector<std::string> choices;  ///< valid strings; empty: any
  Range range;                       ///< valid numbers
  /// A field that is omitted from the JSON at its default, and has its default if omitted; so configs and
  /// digests of models made before the field existed stay valid.
  bool optional = false;
  /// Fine-tuning may change it: the parameters keep their meaning.
  bool of_training = false;
};

/// What visits fields as `field` does, which must outlive it, and makes them optional.
template <class Visit>
auto optional_fields(Visit& field) {
  return [&field](const char* name, auto& value, const char* help, auto... valid) -> Field& {
    Field& added = field(name, value, help, valid...);
    added.optional = true;
    return added;
  };
}

/// The fields of `config` in the order listed. The pointers refer to members of `config`.
template <class Config>
std::vector<Field> fields_of(Config& config) {
  struct Collect {
    std::vector<Field>& list;
    Field& operator()(const char* name, bool& v, const char* help) {
      return list.emplace_back(Field{name, &v, help, {}, {}});
    }
    Field& operator()(const char* name, std::int64_t& v, const char* help, Range range = {}) {
      return list.emplace_back(Field{name, &v, help, {}, range});
    }
    Field& operator()(const char* name, double& v, const char* help, Range range = {}) {
      return list.emplace_back(Field{name, &v, help, {}, range});
    }
    Field& operator()(const char* name, std::string& v, const char* help,
                      std::vector<std::string> choices = {}) {
      return list.emplace_back(Field{name, &v, help, std::move(choices), {}});
    }
  };
  std::vector<Field> list;
  Config::fields(config, Collect{list});
  return list;
}

inline const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

/// Copies the fields of `from` for which given(name) holds to the fields of the same name in `to`.
template <class Given>
void overlay(const std::vector<Field>& from, const std::vector<Field>& to, const Given& given) {
  for (const Field& field : from) {
    const Field* same = given(field.name) ? find_field(to, field.name) : nullptr;
    if (same) std::visit([&](auto* value) { *std::get<decltype(value)>(same->value) = *value; }, field.value);
  }
}

/// Throws UsageError "d_model is 0, wanted 1 to 65536" for the first number that is out of its field's range.
void check_ranges(const std::vector<Field>& fields);
template <class Config>
void check_ranges(const Config& config) {
  Config copy = config;
  check_ranges(fields_of(copy));
}

}  // namespace heed
