#include "train/shard_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "tensor/kernels.h"
#include "train/ranges.h"

namespace heed {

namespace {

/// The node that makes a node together with this one.
ShardRange sibling(ShardRange node, std::int64_t shards) {
  ShardRange above{0, shards};
  for (;;) {
    const auto [left, right] = halves(above);
    if (node == left) return right;
    if (node == right) return left;
    above = node.first < right.first ? left : right;
  }
}

/// Memory for what arrives from other ranks, at least a range of each node.
constexpr std::size_t kArrivingBytes = std::size_t{16} << 20;

void add_nodes(ShardRange node, ShardRange block, std::vector<ShardRange>& nodes) {
  if (node.end <= block.first || block.end <= node.first) return;
  if (block.first <= node.first && node.end <= block.end) {
    nodes.push_back(node);
    return;
  }
  const auto [left, right] = halves(node);
  add_nodes(left, block, nodes);
  add_nodes(right, block, nodes);
}

/// How many nodes of a block are complete and apart at most, while its shards are added in order.
std::int64_t most_apart(ShardRange block, std::int64_t shards) {
  std::size_t most = 0;
  for (std::int64_t end = block.first; end < block.end; ++end)
    most = std::max(most, nodes_within({block.first, end}, shards).size());
  return static_cast<std::int64_t>(most);
}

/// Which leaf of a tree is added to which to make `node`, in order; returns where that is then.
std::size_t plan_leaves(ShardRange node, const std::vector<ShardRange>& leaves,
                        std::vector<std::pair<std::size_t, std::size_t>>& additions) {
  const auto leaf = std::ranges::lower_bound(leaves, node);
  if (leaf != leaves.end() && *leaf == node) return static_cast<std::size_t>(leaf - leaves.begin());
  const auto [left, right] = halves(node);
  const std::size_t sum = plan_leaves(left, leaves, additions);
  additions.emplace_back(plan_leaves(right, leaves, additions), sum);
  return sum;
}

/// sum += part; part becomes zero, while it is in the cache.
void add_and_clear(std::span<float> part, std::span<float> sum) {
  add_to<float>(part, sum);
  fill<float>(part, 0.0f);
}

}  // namespace

std::pair<ShardRange, ShardRange> halves(ShardRange node) {
  const auto count = static_cast<std::uint64_t>(node.end - node.first);
  const std::int64_t middle = node.first + static_cast<std::int64_t>(std::bit_floor(count - 1));
  return {{node.first, middle}, {middle, node.end}};
}

ShardRange block_of(std::int64_t shards, int rank, int ranks) {
  const Cuts cuts = even_cuts(static_cast<std::size_t>(shards), ranks);
  const auto r = static_cast<std::size_t>(rank);
  return {static_cast<std::int64_t>(cuts[r]), static_cast<std::int64_t>(cuts[r + 1])};
}

std::vector<ShardRange> nodes_within(ShardRange block, std::int64_t shards) {
  std::vector<ShardRange> nodes;
  if (block.first < block.end) add_nodes({0, shards}, block, nodes);
  return nodes;
}

Cuts slice_cuts(std::size_t size, int ranks) {
  Cuts cuts = even_cuts(static_cast<std::size_t>(range_count(static_cast<std::int64_t>(size))), ranks);
  for (std::size_t& cut : cuts) cut = std::min(cut * static_cast<std::size_t>(range_size), size);
  return cuts;
}

double norm_of(std::span<const double> squares) {
  double total = 0;
  for (const double s : squares) total += s;
  return std::sqrt(total);
}

ShardSum::ShardSum(std::size_t size, int threads, Exchange& exchange)
    : size_(size), threads_(threads), exchange_(exchange), cuts_(slice_cuts(size, exchange.size())) {
  sum_ = &buffers_.emplace_back(size);
}

void ShardSum::begin(std::int64_t shards) {
  shards_ = shards;
  block_ = block_of(shards, exchange_.rank(), exchange_.size());
  opened_ = block_.first;
  most_ = threads_ + most_apart(block_, shards);
  failed_ = false;
  closed_.clear();
  free_.clear();
  for (Buffer& buffer : buffers_) free_.push_back(&buffer);
}

void ShardSum::add(std::int64_t shards, const std::function<void(std::int64_t, float*)>& compute) {
  begin(shards);
  try {
    parallel_for(block_.end - block_.first, threads_, [&](std::int64_t i) {
      const std::int64_t shard = block_.first + i;
      try {
        Buffer* const buffer = open(shard);
        if (!buffer) return;
        compute(shard, buffer->data());
        close({shard, shard + 1}, buffer);
      } catch (...) {
        fail();
        throw;
      }
    });
  } catch (...) {
    for (Buffer& buffer : buffers_) fill<float>(buffer, 0.0f);
    throw;
  }
}

/// Waits for the shard's turn, so that what is closed is at most a binary counter when all threads wait, and for a
/// buffer. Null: another shard failed.
ShardSum::Buffer* ShardSum::open(std::int64_t shard) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || (opened_ == shard && (!free_.empty() || buffers() < most_)); });
  if (failed_) return nullptr;
  if (free_.empty()) free_.push_back(&buffers_.emplace_back(size_));
  Buffer* const buffer = free_.back();
  free_.pop_back();
  ++opened_;
  changed_.notify_all();
  return buffer;
}

/// Merges the node with those beside it, as long as buffers are wanted; then finish() is faster.
void ShardSum::close(ShardRange node, Buffer* sum) {
  std::unique_lock lock(mutex_);
  while (opened_ < block_.end) {
    const auto other = closed_.find(sibling(node, shards_));
    if (other == closed_.end()) break;
    Buffer* part = other->second;
    if (other->first < node) std::swap(part, sum);
    node = {std::min(node.first, other->first.first), std::max(node.end, other->first.end)};
    closed_.erase(other);
    lock.unlock();
    for_ranges(static_cast<std::int64_t>(size_), 1, [&](std::int64_t, std::size_t first, std::size_t count) {
      add_and_clear(std::span(*part).subspan(first, count), std::span(*sum).subspan(first, count));
    });
    lock.lock();
    free_.push_back(part);
    changed_.notify_all();
  }
  closed_[node] = sum;
}

void ShardSum::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

/// What makes the node of those that are closed, in order: to each second the first is added. Returns where it will be.
ShardSum::Buffer* ShardSum::plan(ShardRange node, Additions& additions) {
  const auto closed = closed_.find(node);
  if (closed != closed_.end()) return closed->second;
  const auto [left, right] = halves(node);
  Buffer* const sum = plan(left, additions);
  additions.emplace_back(plan(right, additions), sum);
  return sum;
}

void ShardSum::merge(const Additions& additions, Piece piece) {
  for (const auto& [part, sum] : additions)
    add_and_clear(std::span(*part).subspan(piece.first, piece.count),
                  std::span(*sum).subspan(piece.first, piece.count));
}

const std::vector<double>& ShardSum::finish() {
  Additions local;
  own_.clear();
  for (const ShardRange node : nodes_within(block_, shards_)) own_.push_back(plan(node, local));
  sum_ = own_.front();
  if (exchange_.size() > 1) {
    reduce(local);
    return squares_;
  }
  const auto size = static_cast<std::int64_t>(size_);
  squares_.resize(static_cast<std::size_t>(range_count(size)));
  for_ranges(size, threads_, [&](std::int64_t range, std::size_t first, std::size_t count) {
    merge(local, {first, count});
    squares_[static_cast<std::size_t>(range)] = squared_norm<float>(std::span(*sum_).subspan(first, count));
  });
  return squares_;
}

/// A piece of every slice at a time, so that what arrives takes little memory.
void ShardSum::reduce(const Additions& local) {
  const auto ranks = static_cast<std::size_t>(exchange_.size()),
             me = static_cast<std::size_t>(exchange_.rank());
  std::vector<ShardRange> leaves;
  std::vector<std::size_t> owners;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const ShardRange block = block_of(shards_, static_cast<int>(rank), exchange_.size());
    for (const ShardRange node : nodes_within(block, shards_)) {
      leaves.push_back(node);
      owners.push_back(rank);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> additions;
  plan_leaves({0, shards_}, leaves, additions);

  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) longest = std::max(longest, cuts_[rank + 1] - cuts_[rank]);
  const std::size_t remote = leaves.size() - own_.size(), range = static_cast<std::size_t>(range_size);
  const std::size_t ranges = std::clamp<std::size_t>(kArrivingBytes / (remote * range * sizeof(float)), 1,
                                                     std::max<std::size_t>((longest + range - 1) / range, 1));
  const std::size_t step = ranges * range;
  arrived_.resize(remote * std::min(step, longest));
  squares_.assign((cuts_[me + 1] - cuts_[me] + range - 1) / range, 0);

  for (std::size_t done = 0; done < longest; done += step) {
    std::vector<Piece> pieces, in_ranges;  // of each rank's slice
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t first = std::min(cuts_[rank] + done, cuts_[rank + 1]);
      pieces.push_back({first, std::min(step, cuts_[rank + 1] - first)});
      for (std::size_t at = 0; at < pieces.back().count; at += range)
        in_ranges.push_back({first + at, std::min(range, pieces.back().count - at)});
    }
    const auto for_all_ranges = [&](const std::function<void(Piece)>& task) {
      parallel_for(static_cast<std::int64_t>(in_ranges.size()), threads_,
                   [&](std::int64_t i) { task(in_ranges[static_cast<std::size_t>(i)]); });
    };
    for_all_ranges([&](Piece piece) { merge(local, piece); });

    const Piece mine = pieces[me];
    std::vector<Exchange::Incoming> receive;
    std::vector<float*> values;  // of each leaf, my piece
    std::size_t place = 0, kept = 0;
    for (const std::size_t owner : owners) {
      if (owner == me) {
        values.push_back(own_[kept++]->data() + mine.first);
        continue;
      }
      const std::span<float> part = std::span(arrived_).subspan(place, mine.count);
      place += mine.count;
      values.push_back(part.data());
      receive.push_back({static_cast<int>(owner), std::as_writable_bytes(part)});
    }
    std::vector<Exchange::Outgoing> send;
    for (std::size_t k = 1; k < ranks; ++k) {
      const std::size_t rank = (me + k) % ranks;
      for (Buffer* const node : own_)
        send.push_back({static_cast<int>(rank),
                        std::as_bytes(std::span(*node).subspan(pieces[rank].first, pieces[rank].count))});
    }
    exchange_.transfer(send, receive);

    for_all_ranges([&](Piece piece) {
      if (piece.first < mine.first || mine.first + mine.count <= piece.first) {  // was sent
        for (Buffer* const node : own_) fill<float>(std::span(*node).subspan(piece.first, piece.count), 0.0f);
        return;
      }
      const auto of = [&](std::size_t leaf) {
        return std::span(values[leaf] + (piece.first - mine.first), piece.count);
      };
      for (const auto& [part, sum] : additions) add_and_clear(of(part), of(sum));
      const std::span<float> sum = std::span(*sum_).subspan(piece.first, piece.count);
      if (owners.front() != me) std::ranges::copy(of(0), sum.begin());
      squares_[(piece.first - cuts_[me]) / range] = squared_norm<float>(sum);
    });
  }
}

}  // namespace heed
