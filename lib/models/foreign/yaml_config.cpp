#include "models/foreign/yaml_config.h"

#include <yaml-cpp/yaml.h>

#include <cmath>

#include "base/error.h"
#include "base/number.h"

namespace heed::foreign {
namespace {

/// Larger than any settings; what is larger is not parsed.
constexpr std::size_t kMostBytes = 1 << 20;

Json scalar(const YAML::Node& node, const std::string& where) {
  if (node.IsNull()) return nullptr;
  if (!node.IsScalar()) fail(where, ": wanted a value or a list of values");
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // in quotes
  if (text == "true" || text == "false") return text == "true";
  std::int64_t integer = 0;
  double number = 0;
  if (parse(text, integer) && integer >= 0) return static_cast<std::uint64_t>(integer);
  if (parse(text, integer)) return integer;
  if (parse(text, number) && std::isfinite(number)) return number;
  return text;
}

}  // namespace

Json yaml_object(const std::string& text, const std::string& where) {
  if (text.size() > kMostBytes) fail(where, ": ", text.size(), " bytes, wanted at most ", kMostBytes);
  Json json = Json::object();
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) fail(where, ": wanted settings in YAML");
    for (const auto& entry : root) {
      if (!entry.first.IsScalar()) fail(where, ": wanted names of settings");
      const std::string& name = entry.first.Scalar();
      const std::string place = concat(where, ": ", escaped(name));
      if (json.contains(name)) fail(place, " is there twice");
      if (entry.second.IsSequence()) {
        json[name] = Json::array();
        for (const YAML::Node& each : entry.second) json[name].push_back(scalar(each, place));
      } else {
        json[name] = scalar(entry.second, place);
      }
    }
  } catch (const YAML::Exception& error) {
    fail(where, ": no YAML: ", escaped(error.what(), 200));
  }
  return json;
}

}  // namespace heed::foreign
