#include "stages/derived_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "text/bounded_json.h"

namespace heed {

void NewModelFile::expect_possible(const char* what) const {
  if (path.empty() || path == "-") fail<UsageError>("-o: wanted a file for ", what);
  if (!overwrite && std::filesystem::exists(path))
    fail<UsageError>("-o ", escaped(path), ": already exists; --overwrite replaces it");
}

nlohmann::json unverified_origin(const LoadedModel& loaded) {
  nlohmann::json origin = text::parse_bounded_json(loaded.origin, "model/origin");
  if (!origin.is_object()) fail("model/origin: no object of JSON");
  origin.erase("verified");
  return origin;
}

}  // namespace heed
