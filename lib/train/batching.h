// Selection and order of the sentences of each update. Everything is a function of the corpus, the seed and
// the epoch, so a resumed run continues from two numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/philox.h"
#include "train/corpus.h"

namespace heed {

/// One update's sentences, split into logical shards. Shards hold about equally many source and target tokens
/// and sentences of similar length; a shard may be empty.
struct Batch {
  std::vector<std::vector<std::int64_t>> shards;  ///< indices of sentences
  std::int64_t tokens = 0;                        ///< of all shards, on the side that is learned, eos counted
};

/// The batches of an epoch: an order of sentences, 4 bytes each, and its division; shards are computed on
/// request.
class Batches {
 public:
  Batches() = default;
  /// Divides `order`, sentences of `corpus`, which must outlive this, into batches of at most `batch_tokens`.
  Batches(const Corpus& corpus, std::vector<std::uint32_t> order, std::int64_t batch_tokens,
          std::int64_t shards);
  void shuffle(Random& random);

  std::size_t size() const { return cuts_.size(); }
  Batch operator[](std::size_t i) const;
  std::int64_t tokens(std::size_t i) const { return cuts_[i].tokens; }

  /// Iterates over all batches.
  class Iterator {
   public:
    Iterator(const Batches& batches, std::size_t at) : batches_(&batches), at_(at) {}
    Batch operator*() const { return (*batches_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Batches* batches_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  struct Cut {
    std::uint32_t begin, end;  ///< range of order_
    std::int64_t tokens;
  };
  const Corpus* corpus_ = nullptr;
  std::int64_t shards_ = 1;
  std::vector<std::uint32_t> order_;
  std::vector<Cut> cuts_;
};

/// The batches of one epoch: every sentence exactly once, at most `batch_tokens` tokens (Corpus::length)
/// per batch (a longer sentence is a batch by itself), sentences of similar length together, the order
/// shuffled by (seed, epoch).
Batches make_batches(const Corpus& corpus, std::int64_t batch_tokens, std::int64_t shards, std::uint64_t seed,
                     std::int64_t epoch);

/// Batches for validation: ordered by length, the same each time, one shard each.
std::vector<Batch> make_validation_batches(const Corpus& corpus, std::int64_t batch_tokens);

}  // namespace heed
