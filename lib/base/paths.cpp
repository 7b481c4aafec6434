#include "base/paths.h"

#include <filesystem>
#include <utility>

#include "base/error.h"

namespace heed {

bool same_place(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  const auto place = [](const std::string& path) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path, failed);
    const auto found = std::filesystem::weakly_canonical(whole, failed);
    return failed ? whole : found;
  };
  return place(a) == place(b);
}

std::string name_of_input(const std::string& path) {
  return path == "-" ? "<stdin>" : escaped(path);
}

std::string listed_paths(std::vector<std::string> paths) {
  for (std::string& path : paths) path = "/" + escaped(path);
  return listed(std::move(paths));
}

}  // namespace heed
