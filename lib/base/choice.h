// A setting that is one of a few words: in configs and options the word, in computations an enumerator.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace heed {

template <class Enum>
struct Choice {
  const char* setting;
  std::vector<std::string> words;  ///< of the enumerators, in their order from 0

  /// Throws UsageError on any other word.
  Enum operator()(const std::string& word) const {
    std::string wanted;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == word) return static_cast<Enum>(i);
      wanted += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
    }
    fail<UsageError>(setting, ": got '", escaped(word), "', wanted ", wanted);
  }
};

}  // namespace heed
