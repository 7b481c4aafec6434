// Config structs to JSON and back. The JSON of a model names its architecture: {"architecture":
// "transformer", ...}.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"

namespace heed {

std::string to_json(const std::string& architecture, const std::vector<Field>& fields);

/// Sets the fields named in `json`; those not named keep their values. Throws Error on unknown names, wrong
/// types and values outside a field's choices.
void from_json(const std::string& json, const std::vector<Field>& fields);

/// The "architecture" of a model's JSON. Throws Error when there is none.
std::string architecture_of(const std::string& json);

}  // namespace heed
