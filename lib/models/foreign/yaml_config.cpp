#include "models/foreign/yaml_config.h"

#include <yaml-cpp/yaml.h>

#include <cmath>

#include "base/error.h"
#include "base/number.h"
#include "text/bounded_json.h"
#include "text/foreign_json.h"

namespace heed::foreign {
namespace {

/// Converts nodes to JSON. A few aliases may expand to more values than fit in memory, or refer to
/// themselves.
class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Json value(const YAML::Node& node, int level) {
    if (++count_ > text::kMostSettings) fail(where_, ": YAML of more than ", text::kMostSettings, " values");
    if (level > text::kMostJsonLevels)
      fail(where_, ": YAML nested deeper than ", text::kMostJsonLevels, " levels");
    if (node.IsMap()) return object(node, level);
    if (!node.IsSequence()) return scalar(node);
    Json list = Json::array();
    for (const YAML::Node& each : node) list.push_back(value(each, level + 1));
    return list;
  }

 private:
  Json object(const YAML::Node& node, int level) {
    Json json = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) fail(where_, ": wanted names of settings");
      const std::string& name = entry.first.Scalar();
      if (json.contains(name)) fail(where_, ": ", escaped(name), " is given twice");
      json[name] = value(entry.second, level + 1);
    }
    return json;
  }

  static Json scalar(const YAML::Node& node) {
    if (!node.IsScalar()) return nullptr;
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

  const std::string& where_;
  std::int64_t count_ = 0;
};

}  // namespace

Json yaml_object(const std::string& text, const std::string& where) {
  if (text.size() > kMostYamlBytes) fail(where, ": ", text.size(), " bytes, wanted at most ", kMostYamlBytes);
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) fail(where, ": wanted settings in YAML");
    return Reader(where).value(root, 0);
  } catch (const YAML::Exception& error) {
    fail(where, ": no YAML: ", escaped(error.what(), 200));
  }
}

Json read_yaml_object(const std::string& path) {
  return yaml_object(text::read_foreign_file(path, kMostYamlBytes), escaped(path));
}

}  // namespace heed::foreign
