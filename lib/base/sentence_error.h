// Bad data in one of several sentences that are processed together.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace heed {

class SentenceError : public Error {
 public:
  /// `sentence` counts from 0 within the thrower's unit: a shard, a frame.
  SentenceError(std::int64_t sentence, const std::string& problem) : Error(problem), sentence(sentence) {}

  std::int64_t sentence;
};

/// Runs work(), renumbering the sentence i of a SentenceError to the caller's number_of(i).
template <class Number, class Work>
void renumbering(const Number& number_of, const Work& work) {
  try {
    work();
  } catch (const SentenceError& e) {
    throw SentenceError(number_of(e.sentence), e.what());
  }
}

}  // namespace heed
