// The random numbers of one sampled translation. Those of a step depend only on seed, stream and step, so
// threads and batching do not affect a draw. The first of a step chooses the token, the second the position
// of hard attention.
#pragma once

#include <cstdint>

#include "tensor/philox.h"

namespace heed {

struct SampleStream {
  std::uint64_t seed = 0, stream = 0;

  /// For translation `number` (below 65536) of a sentence, numbered over the whole input.
  static SampleStream of(std::uint64_t seed, std::uint64_t sentence, std::uint64_t number) {
    return {seed, sentence * 65536 + number};
  }
  /// The same numbers counted from step `steps` on.
  SampleStream from(std::uint64_t steps) const { return {seed + steps * 0x9E3779B97F4A7C15ull, stream}; }
  Random at(std::uint64_t step) const { return {seed + step * 0x9E3779B97F4A7C15ull, stream}; }
};

}  // namespace heed
