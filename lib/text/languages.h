// The codes of languages that models for many of them have as special tokens: eng_Latn (NLLB-200), en_XX
// (mBART), __en__ (M2M-100). One stands before or after a source sentence, and a translation begins with one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_config.h"
#include "text/vocabulary.h"

namespace heed::text {

/// Whether a special token is named like such a code.
bool is_language_code(std::string_view piece);

/// The codes of M2M-100, which its folders do not list, in the order of their ids; of the same model for
/// fewer languages (`name` wmt21). Empty if the name is unknown.
std::vector<std::string> m2m_codes(const std::string& name);

/// The id of the language called `name`, which may lack the underscores of __en__; kAbsent if there is none.
std::int32_t find_language(const Vocabulary& vocabulary, const std::vector<std::int32_t>& codes,
                           const std::string& name);
/// The language that a field of tokenizer_config.json names; kAbsent if it names none. Throws Error if there is
/// no such language.
std::int32_t stated_language(const TokenizerConfig& config, const char* field, const Vocabulary& vocabulary,
                             const std::vector<std::int32_t>& codes);
/// find_language(). Throws UsageError naming `option`, the number of languages and those of similar names.
std::int32_t language_of(const Vocabulary& vocabulary, const std::vector<std::int32_t>& codes,
                         const std::string& name, const std::string& option);

}  // namespace heed::text
