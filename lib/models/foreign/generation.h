// How transformers' generate() searches with a model: generation_config.json or, in older folders, fields of config.json.
#pragma once

#include <string>
#include <vector>

#include "base/special_ids.h"
#include "models/foreign/family.h"
#include "models/search_settings.h"

namespace heed::foreign {

/// What heed's search cannot do is a note; ids that may not be produced, other than pad and bos of `target`, are a reason not
/// to import.
SearchSettings generation_of(const Source& source, ConfigFields& config, const SpecialIds& target,
                             std::vector<std::string>& notes);

}  // namespace heed::foreign
