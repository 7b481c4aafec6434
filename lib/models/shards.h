// A frame is computed in shards of a few sentences, one thread a shard. The shards depend on the frame alone,
// so the number of threads changes no bit of the result.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "base/sentence_error.h"
#include "models/model.h"

namespace heed {

struct SentenceRange {
  std::int64_t first = 0, count = 0;

  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return all;
  }
};

inline constexpr std::int64_t kShardSentences = 16;

inline std::int64_t shards_of(std::int64_t sentences) {
  return (sentences + kShardSentences - 1) / kShardSentences;
}

/// Calls work(range) for one shard of `sentences`. The sentence of a SentenceError is converted from the range's
/// numbering to the frame's.
template <class Work>
void in_shard(std::int64_t sentences, std::int64_t shard, const Work& work) {
  const std::int64_t first = shard * kShardSentences;
  renumbering([&](std::int64_t s) { return first + s; },
              [&] {
                work(SentenceRange{first, std::min(kShardSentences, sentences - first)});
              });
}

/// For all shards, on up to `threads` threads.
inline void for_each_shard(std::int64_t sentences, int threads,
                           const std::function<void(SentenceRange)>& work) {
  parallel_for(shards_of(sentences), threads, [&](std::int64_t shard) { in_shard(sentences, shard, work); });
}

/// The packing of a range of sentences of `rows`.
inline Packing slice(const Packing& rows, SentenceRange range) {
  Packing part;
  for (std::int64_t i = 0; i < range.count; ++i) part.append(rows.length(range.first + i));
  return part;
}

/// A pass without gradients and dropout.
struct InferencePass : Pass<float> {
  explicit InferencePass(const Model<float>& model, Recorder<float>* values = nullptr) {
    tape = &own_tape;
    own_tape.set_packed_weights(model.packed.get());
    parameters = &model.parameters;
    recorder = values;
  }
  Tape<float> own_tape;
};

}  // namespace heed
