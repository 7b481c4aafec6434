// Bad data in one sentence of several that are worked on together.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace heed {

class SentenceError : public Error {
 public:
  /// `sentence` counts from 0 within what the thrower was given: a shard, a frame.
  SentenceError(std::int64_t sentence, const std::string& problem) : Error(problem), sentence(sentence) {}

  std::int64_t sentence;
};

/// work(), whose sentence i is number_of(i) to the caller.
template <class Number, class Work>
void renumbering(const Number& number_of, const Work& work) {
  try {
    work();
  } catch (const SentenceError& e) {
    throw SentenceError(number_of(e.sentence), e.what());
  }
}

}  // namespace heed
