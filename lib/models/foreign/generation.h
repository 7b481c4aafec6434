// The search settings of transformers' generate(): generation_config.json or, in older folders, fields of
// config.json.
#pragma once

#include <string>
#include <vector>

#include "base/special_ids.h"
#include "models/foreign/family.h"
#include "models/search_settings.h"

namespace heed::foreign {

/// Settings that heed's search does not support give a note; ids that may not be produced, other than pad and
/// bos of `target`, are a reason not to import. `rows`: size of the target's vocabulary.
/// `forced_eos`: the class's default of forced_eos_token_id, which counts where there is no
/// generation_config.json.
SearchSettings generation_of(const Source& source, ConfigFields& config, const SpecialIds& target,
                             std::int64_t rows, std::vector<std::string>& notes,
                             std::int32_t forced_eos = SpecialIds::kAbsent);

/// All ids that end a text, by config.json and generation_config.json, except `eos`:
/// SearchSettings::more_ends. Too many of them are a reason not to import, and so are ids in
/// generation_config.json outside the vocabulary's `rows`; in config.json, which may stem from another
/// vocabulary, these give a note.
std::string more_ends_of(const Source& source, ConfigFields& config, std::int32_t eos, std::int64_t rows,
                         std::vector<std::string>& notes);

/// The inverse, for config.json or generation_config.json: eos_token_id is a list if there are several.
void state_ends(const SearchSettings& search, std::int32_t eos, Json& config);

/// The inverse of generation_of, generation_config.json.
std::string generation_json(const SearchSettings& search, const SpecialIds& target);

/// The SentencePiece model of a tokenizer, and the ids of its pieces as JSON; empty if it has none.
std::string sentencepiece_of(const text::Tokenizer& tokenizer);
std::string pieces_json(const text::Tokenizer& tokenizer);

}  // namespace heed::foreign
