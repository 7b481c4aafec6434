// Settings in YAML, as Marian writes them, in the form of config.json, so that they are read as strictly (config_fields.h).
#pragma once

#include <string>

#include "models/foreign/config_fields.h"

namespace heed::foreign {

/// A mapping whose scalars become true, false, numbers or texts; deeper nesting than lists of scalars is refused. Tags say
/// nothing. Throws Error, which begins with `where`.
Json yaml_object(const std::string& text, const std::string& where);

}  // namespace heed::foreign
