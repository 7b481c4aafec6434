// Which sentences make an update, and in which order. Everything is a function of the corpus, the seed and
// the epoch, so a resumed run finds its place again by two numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "train/corpus.h"

namespace heed {

/// One update's sentences, split into logical shards. Shards hold about equally many source and target tokens
/// and sentences of similar length; a shard may be empty.
struct Batch {
  std::vector<std::vector<std::int64_t>> shards;  ///< indices of sentences
  std::int64_t tokens = 0;                        ///< of all shards, of the side that is learned, eos counted
};

/// The batches of one epoch: every sentence exactly once, at most `batch_tokens` tokens (Corpus::length)
/// per batch (a longer sentence is a batch by itself), sentences of similar length together, the order
/// shuffled by (seed, epoch).
std::vector<Batch> make_batches(const Corpus& corpus, std::int64_t batch_tokens, std::int64_t shards,
                                std::uint64_t seed, std::int64_t epoch);

/// Batches for validation: in order of length, the same each time, one shard each.
std::vector<Batch> make_validation_batches(const Corpus& corpus, std::int64_t batch_tokens);

}  // namespace heed
