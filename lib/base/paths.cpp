#include "base/paths.h"

#include <filesystem>

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

std::string listed_paths(const std::vector<std::string>& paths) {
  const std::size_t shown = std::min<std::size_t>(paths.size(), 12);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += concat(i ? ", /" : "/", escaped(paths[i]));
  return shown < paths.size() ? concat(text, " and ", paths.size() - shown, " more") : text;
}

}  // namespace heed
