// Bounded parsing of untrusted JSON: without a limit on nesting, traversal would exhaust the stack; without a
// limit on the number of values, a small file would exhaust the memory, as "[]," takes 20 times its size
// there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace heed::text {

inline constexpr int kMostJsonLevels = 64;
/// Limits for settings and for tokenizers, above any real file.
inline constexpr std::int64_t kMostSettings = 100'000, kMostTokenizerValues = 5'000'000;

/// The JSON of a text; a discarded value if it is invalid. Throws Error beginning with `where` if objects and
/// arrays are nested deeper than kMostJsonLevels, or there are more than `most` names and other values.
nlohmann::json parse_bounded_json(const std::string& text, const std::string& where,
                                  std::int64_t most = kMostSettings);

}  // namespace heed::text
