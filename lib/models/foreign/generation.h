// How transformers' generate() searches with a model: generation_config.json or, in older folders, fields of config.json.
#pragma once

#include <string>
#include <vector>

#include "base/special_ids.h"
#include "models/foreign/family.h"
#include "models/search_settings.h"

namespace heed::foreign {

/// What heed's search cannot do is a note; ids that may not be produced, other than pad and bos of `target`, are a reason not
/// to import. `rows`: of the target's vocabulary.
SearchSettings generation_of(const Source& source, ConfigFields& config, const SpecialIds& target,
                             std::int64_t rows, std::vector<std::string>& notes);

/// All ids that end a text, by config.json and generation_config.json, but `eos`: SearchSettings::more_ends. Many of them are a
/// reason not to import, and so are those of generation_config.json that are none of the vocabulary's `rows`; of config.json,
/// which may have those of another vocabulary, a note.
std::string more_ends_of(const Source& source, ConfigFields& config, std::int32_t eos, std::int64_t rows,
                         std::vector<std::string>& notes);

/// The inverse, for config.json or generation_config.json: eos_token_id is a list where there are several.
void state_ends(const SearchSettings& search, std::int32_t eos, Json& config);

/// The inverse of generation_of, generation_config.json.
std::string generation_json(const SearchSettings& search, const SpecialIds& target);

/// The SentencePiece model of a tokenizer, and the ids of its pieces as JSON; empty when it has none.
std::string sentencepiece_of(const text::Tokenizer& tokenizer);
std::string pieces_json(const text::Tokenizer& tokenizer);

}  // namespace heed::foreign
