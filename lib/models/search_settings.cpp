#include "models/search_settings.h"

#include <nlohmann/json.hpp>

#include "models/config_json.h"
#include "text/bounded_json.h"

namespace heed {

std::optional<SearchSettings> search_settings_of(const std::string& origin) {
  if (origin.empty()) return {};
  const nlohmann::json json = text::parse_bounded_json(origin, "model/origin");
  if (!json.is_object() || !json.contains("search")) return {};
  SearchSettings settings;
  from_json(json["search"].dump(), fields_of(settings));
  check_config(settings);
  return settings;
}

}  // namespace heed
