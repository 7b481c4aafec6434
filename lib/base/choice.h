// A setting that is one of a few words: a word in configs and options, an enumerator in computations.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace heed {

/// `word` as an enumerator; `words` lists the words of the enumerators in order, from 0. Throws UsageError
/// naming `setting` on any other word.
template <class Enum>
Enum chosen(const std::string& setting, const std::vector<std::string>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    fail<UsageError>(setting, ": got '", escaped(word), "', wanted ", alternatives(words));
  return static_cast<Enum>(found - words.begin());
}

/// A setting with its words, for settings that are parsed in several places.
template <class Enum>
struct Choice {
  const char* setting;
  std::vector<std::string> words;

  Enum operator()(const std::string& word) const { return chosen<Enum>(setting, words, word); }
};

}  // namespace heed
