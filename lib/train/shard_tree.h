// The sum of a batch's shards by a binary tree that depends on their number alone:
//   sum(lo, hi) = the shard's own if it is one, else sum(lo, m) + sum(m, hi),
//   m = lo + the largest power of two below hi - lo.
// Shards are begun in order and merge like the digits of a binary counter, so few buffers are alive. Up to three
// shards it is the sum from left to right.
//
// Of several ranks each adds up what lies whole within its own shards, and gives every other rank that one's slice of
// these nodes; that one makes the rest of the tree. So no bit depends on the number of ranks, and what a rank sends is
// little: one node where ranks divide the shards by a power of two.
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

#include "train/slices.h"

namespace heed {

/// The shards [first, end) of a node of the tree.
struct ShardRange {
  std::int64_t first, end;

  friend auto operator<=>(const ShardRange&, const ShardRange&) = default;
};
/// The two nodes that make one of at least two shards.
std::pair<ShardRange, ShardRange> halves(ShardRange node);

/// Those of one of `ranks` ranks.
ShardRange block_of(std::int64_t shards, int rank, int ranks);
/// The largest nodes of the tree over `shards` that lie within `block`, in order.
std::vector<ShardRange> nodes_within(ShardRange block, std::int64_t shards);
/// Square root of the sum of squares, in their order.
double norm_of(std::span<const double> squares);

class ShardSum {
 public:
  /// Of buffers of this layout. `exchange` must outlive this.
  ShardSum(Layout layout, int threads, Exchange& exchange = alone(),
           std::size_t round_bytes = Slices::kRoundBytes);

  /// Calls compute(shard, zeros to add to) for every shard of this rank, on several threads. At most threads +
  /// ceil(log2 shards) buffers are alive (of ranks whose shards are no node of the tree one or two more): a thread waits
  /// rather than open one more. Throws what compute throws.
  void add(std::int64_t shards, const std::function<void(std::int64_t shard, float* sum)>& compute);
  /// Adds up what add() left on all ranks. Returns the squares of every range of this rank's slice, added in double.
  const std::vector<double>& finish();
  /// The sum, valid after finish() within this rank's slice. To be zero again at the next add(), as it is outside.
  std::span<float> sum() { return *sum_; }

  Slices& slices() { return slices_; }

  /// How many there were at most.
  std::int64_t buffers() const { return static_cast<std::int64_t>(buffers_.size()); }

 private:
  using Buffer = std::vector<float>;
  using Additions = std::vector<std::pair<Buffer*, Buffer*>>;  ///< to each second the first is added

  void begin(std::int64_t shards);
  Buffer* open(std::int64_t shard);
  void close(ShardRange node, Buffer* sum);
  void fail();
  Buffer* plan(ShardRange node, Additions& additions);
  void reduce(const Additions& local);
  void merge(const Additions& additions, Stretch stretch);

  std::size_t size_;
  int threads_;
  Exchange& exchange_;
  Slices slices_;
  std::deque<Buffer> buffers_;  ///< zero unless in use
  Buffer* sum_;
  std::vector<Buffer*> own_;  ///< what this rank adds to the tree, in finish()
  std::vector<double> squares_;
  // Of one sum, guarded by mutex_:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t shards_ = 0, opened_ = 0, most_ = 0;
  ShardRange block_{0, 0};
  bool failed_ = false;
  std::vector<Buffer*> free_;
  std::map<ShardRange, Buffer*> closed_;  ///< nodes that are complete and not part of another
};

}  // namespace heed
