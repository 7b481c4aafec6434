#include "models/search_settings.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number.h"
#include "models/config_json.h"
#include "text/bounded_json.h"
#include "text/unicode.h"

namespace heed {

std::optional<SearchSettings> search_settings_of(const std::string& origin) {
  if (origin.empty()) return {};
  const nlohmann::json json = text::parse_bounded_json(origin, "model/origin");
  if (!json.is_object() || !json.contains("search")) return {};
  SearchSettings settings;
  from_json(json["search"].dump(), fields_of(settings));
  check_config(settings);
  more_ends(settings);
  return settings;
}

std::vector<std::int32_t> more_ends(const SearchSettings& settings) {
  std::vector<std::int32_t> ids;
  for (const std::string_view word : text::split_any(settings.more_ends, " ")) {
    std::int32_t& id = ids.emplace_back();
    if (!parse(word, id) || id < 0)
      fail("more_ends is \"", escaped(settings.more_ends, 100), "\", wanted ids");
  }
  return ids;
}

}  // namespace heed
