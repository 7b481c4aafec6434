// The sum of a batch's shards by a binary tree that depends on their number alone:
//   sum(lo, hi) = the shard's own if it is one, else sum(lo, m) + sum(m, hi),
//   m = lo + the largest power of two below hi - lo.
// Shards are started in order and merged like the digits of a binary counter, so few buffers are alive. For
// up to three shards this is the sum from left to right.
//
// With several ranks, each sums the nodes that lie within its own shards, and sends every other rank that
// rank's slice of these nodes; the receiver completes the tree. So no bit depends on the number of ranks, and
// a rank sends little: one node if the ranks divide the shards by a power of two.
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
/// The two children of a node of at least two shards.
std::pair<ShardRange, ShardRange> halves(ShardRange node);

/// The shards of one of `ranks` ranks.
ShardRange block_of(std::int64_t shards, int rank, int ranks);
/// The largest nodes of the tree over `shards` that lie within `block`, in order.
std::vector<ShardRange> nodes_within(ShardRange block, std::int64_t shards);
/// Square root of the sum of squares, summed in order.
double norm_of(std::span<const double> squares);

class ShardSum {
 public:
  /// For buffers of this layout. `exchange` must outlive this.
  ShardSum(Layout layout, int threads, Exchange& exchange = alone(),
           std::size_t round_bytes = Slices::kRoundBytes);

  /// Calls compute(shard, zeros to add to) for every shard of this rank, on several threads. At most threads
  /// + ceil(log2 shards) buffers are alive (one or two more if a rank's shards are not a node of the tree): a
  /// thread waits rather than open another. Throws what compute throws.
  void add(std::int64_t shards, const std::function<void(std::int64_t shard, float* sum)>& compute);
  /// Sums the results of add() over all ranks. Returns the squares of every range of this rank's slice, added
  /// in double.
  const std::vector<double>& finish();
  /// The sum, valid after finish() within this rank's slice. It must be zero again at the next add(), as it
  /// is outside.
  std::span<float> sum() { return *sum_; }

  Slices& slices() { return slices_; }

  /// The maximal number of buffers used.
  std::int64_t buffers() const { return static_cast<std::int64_t>(buffers_.size()); }

 private:
  using Buffer = std::vector<float>;
  using Additions = std::vector<std::pair<Buffer*, Buffer*>>;  ///< the first is added to the second

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
  std::vector<Buffer*> own_;  ///< this rank's contributions to the tree, for finish()
  std::vector<double> squares_;
  // State of one sum, guarded by mutex_:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t shards_ = 0, opened_ = 0, most_ = 0;
  ShardRange block_{0, 0};
  bool failed_ = false;
  std::vector<Buffer*> free_;
  std::map<ShardRange, Buffer*> closed_;  ///< complete nodes that are not yet part of another
};

}  // namespace heed
