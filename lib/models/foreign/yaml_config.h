// Settings in YAML, as in Marian and Sockeye, converted to the form of config.json, so that they are read as
// strictly (config_fields.h).
#pragma once

#include <string>

#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// Larger files are not parsed.
inline constexpr std::size_t kMostYamlBytes = 1 << 18;

/// A mapping whose scalars become true, false, null, numbers or strings. Tags are ignored; an alias is a
/// copy. Throws Error beginning with `where`, also if it is too large (text/bounded_json.h).
Json yaml_object(const std::string& text, const std::string& where);
/// The mapping in a file.
Json read_yaml_object(const std::string& path);

}  // namespace heed::foreign
