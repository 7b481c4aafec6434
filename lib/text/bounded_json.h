// JSON of files that anybody may have written: without a limit on its nesting, whoever walks over it would exhaust
// the stack.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace heed::text {

inline constexpr int kMostJsonLevels = 64;

/// The JSON of a text; a discarded value when it is none. Throws Error, which begins with `where`, when objects and
/// arrays are nested deeper than kMostJsonLevels.
inline nlohmann::json parse_bounded_json(const std::string& text, const std::string& where) {
  const auto check = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    const bool opens = event == nlohmann::json::parse_event_t::object_start ||
                       event == nlohmann::json::parse_event_t::array_start;
    if (opens && depth >= kMostJsonLevels)
      fail(where, ": JSON nested deeper than ", kMostJsonLevels, " levels");
    return true;
  };
  return nlohmann::json::parse(text, check, false);
}

}  // namespace heed::text
