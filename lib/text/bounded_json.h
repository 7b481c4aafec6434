// JSON of files that anybody may have written: without a limit on its nesting, whoever walks over it would exhaust
// the stack, and without one on its values a small file would exhaust the memory, as "[]," is 20 times its size there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace heed::text {

inline constexpr int kMostJsonLevels = 64;
/// Of settings, and of tokenizers: more than any has.
inline constexpr std::int64_t kMostSettings = 100'000, kMostTokenizerValues = 5'000'000;

/// The JSON of a text; a discarded value when it is none. Throws Error, which begins with `where`, when objects and
/// arrays are nested deeper than kMostJsonLevels, or there are more than `most` of them, names and other values.
nlohmann::json parse_bounded_json(const std::string& text, const std::string& where,
                                  std::int64_t most = kMostSettings);

}  // namespace heed::text
