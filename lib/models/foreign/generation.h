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

/// The inverse, generation_config.json.
std::string generation_json(const SearchSettings& search, const SpecialIds& target);

/// The SentencePiece model of a tokenizer, and the ids of its pieces as JSON; empty when it has none.
std::string sentencepiece_of(const text::Tokenizer& tokenizer);
std::string pieces_json(const text::Tokenizer& tokenizer);

}  // namespace heed::foreign
