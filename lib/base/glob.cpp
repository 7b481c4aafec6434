#include "base/glob.h"

#include <fnmatch.h>

#include <span>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

using Levels = std::span<const std::string>;

const std::string kAnyLevels = "**";

std::vector<std::string> levels_of(const std::string& path) {
  std::vector<std::string> levels(1);
  for (const char c : path) {
    if (c == '/') {
      levels.emplace_back();
    } else {
      levels.back() += c;
    }
  }
  return levels;
}

bool matches(Levels glob, Levels path) {
  if (glob.empty()) return path.empty();
  if (glob.front() == kAnyLevels) {
    return matches(glob.subspan(1), path) || (!path.empty() && matches(glob, path.subspan(1)));
  }
  return !path.empty() && fnmatch(glob.front().c_str(), path.front().c_str(), 0) == 0 &&
         matches(glob.subspan(1), path.subspan(1));
}

}  // namespace

bool is_glob(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

bool glob_matches(const std::string& glob, const std::string& path) {
  const auto pattern = levels_of(glob), levels = levels_of(path);
  for (const auto& level : pattern) {
    if (level != kAnyLevels && level.find(kAnyLevels) != std::string::npos)
      fail<UsageError>("'", escaped(glob), "': ** stands for whole levels, as in encoder/**/weights");
  }
  return matches(pattern, levels);
}

}  // namespace heed
