// The models of other programs that tests read.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace heed::test {

/// The folders of testdata/import, in order.
inline std::vector<std::string> imported_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(HEED_TESTDATA "/import"))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace heed::test
