// A setting that is one of a few words: in configs and options the word, in computations an enumerator.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace heed {

/// `word` as an enumerator: `words` are those of the enumerators, in their order from 0. Throws UsageError
/// naming `setting` on any other word.
template <class Enum>
Enum chosen(const std::string& setting, const std::vector<std::string>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    fail<UsageError>(setting, ": got '", escaped(word), "', wanted ", alternatives(words));
  return static_cast<Enum>(found - words.begin());
}

/// The same, of a setting that is read in several places.
template <class Enum>
struct Choice {
  const char* setting;
  std::vector<std::string> words;

  Enum operator()(const std::string& word) const { return chosen<Enum>(setting, words, word); }
};

}  // namespace heed
