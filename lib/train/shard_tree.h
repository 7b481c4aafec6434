// The sum of a batch's shards by a binary tree that depends on their number alone:
//   sum(lo, hi) = the shard's own if it is one, else sum(lo, m) + sum(m, hi),
//   m = lo + the largest power of two below hi - lo.
// Shards are begun in order and merge like the digits of a binary counter, so few buffers are alive. Up to three
// shards it is the sum from left to right.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace heed {

/// The shards [first, end) of a node of the tree.
struct ShardRange {
  std::int64_t first, end;

  friend auto operator<=>(const ShardRange&, const ShardRange&) = default;
};
/// The two nodes that make one of at least two shards.
std::pair<ShardRange, ShardRange> halves(ShardRange node);

class ShardSum {
 public:
  /// Of `size` elements.
  ShardSum(std::size_t size, int threads);

  /// Calls compute(shard, zeros to add to) for every shard, on several threads. At most threads + ceil(log2 shards)
  /// buffers are alive: a thread waits rather than open one more. Throws what compute throws.
  void add(std::int64_t shards, const std::function<void(std::int64_t shard, float* sum)>& compute);
  /// Adds up what add() left. Returns the norm: squares of every range in double, in the order of the ranges.
  double finish();
  /// The sum, valid after finish(). To be zero again at the next add().
  std::span<float> sum() { return *sum_; }

  /// How many there were at most.
  std::int64_t buffers() const { return static_cast<std::int64_t>(buffers_.size()); }

 private:
  using Buffer = std::vector<float>;

  void begin(std::int64_t shards);
  Buffer* open(std::int64_t shard);
  void close(ShardRange node, Buffer* sum);
  void fail();
  Buffer* plan(ShardRange node, std::vector<std::pair<Buffer*, Buffer*>>& additions);

  std::size_t size_;
  int threads_;
  std::deque<Buffer> buffers_;  ///< zero unless in use
  Buffer* sum_;
  // Of one sum, guarded by mutex_:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t shards_ = 0, opened_ = 0, most_ = 0;
  bool failed_ = false;
  std::vector<Buffer*> free_;
  std::map<ShardRange, Buffer*> closed_;  ///< nodes that are complete and not part of another
};

}  // namespace heed
