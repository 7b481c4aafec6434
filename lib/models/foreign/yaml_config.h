// Settings in YAML, as Marian and Sockeye write them, in the form of config.json, so that they are read as strictly (config_fields.h).
#pragma once

#include <string>

#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// Larger than any settings; what is larger is not parsed.
inline constexpr std::size_t kMostYamlBytes = 1 << 18;

/// A mapping whose scalars become true, false, null, numbers or texts. Tags say nothing; an alias is a copy. Throws Error, which
/// begins with `where`, also on too much of it (text/bounded_json.h).
Json yaml_object(const std::string& text, const std::string& where);
/// The same of a file.
Json read_yaml_object(const std::string& path);

}  // namespace heed::foreign
