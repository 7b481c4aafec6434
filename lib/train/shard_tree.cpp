#include "train/shard_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "tensor/kernels.h"
#include "train/ranges.h"

namespace heed {

namespace {

/// The sibling of this node.
ShardRange sibling(ShardRange node, std::int64_t shards) {
  ShardRange above{0, shards};
  for (;;) {
    const auto [left, right] = halves(above);
    if (node == left) return right;
    if (node == right) return left;
    above = node.first < right.first ? left : right;
  }
}

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

/// The maximal number of complete, unmerged nodes of a block while its shards are added in order.
std::int64_t most_apart(ShardRange block, std::int64_t shards) {
  std::size_t most = 0;
  for (std::int64_t end = block.first; end < block.end; ++end)
    most = std::max(most, nodes_within({block.first, end}, shards).size());
  return static_cast<std::int64_t>(most);
}

/// The order in which the leaves of a tree are added to make `node`; returns the position of the sum.
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

void move_and_clear(std::span<float> from, std::span<float> to) {
  std::ranges::copy(from, to.begin());
  fill<float>(from, 0.0f);
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

double norm_of(std::span<const double> squares) {
  double total = 0;
  for (const double s : squares) total += s;
  return std::sqrt(total);
}

ShardSum::ShardSum(Layout layout, int threads, Exchange& exchange, std::size_t round_bytes)
    : size_(layout.size()),
      threads_(threads),
      exchange_(exchange),
      slices_(std::move(layout), threads, exchange, round_bytes) {
  sum_ = &buffers_.emplace_back(size_);
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

/// Waits for the shard's turn, so that complete nodes form at most a binary counter when all threads wait,
/// and for a buffer. Null: another shard failed.
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

/// Merges the node with its siblings while buffers are needed; after that, finish() is faster.
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

/// The additions, in order, that make the node from complete ones: the first of a pair is added to the
/// second. Returns the buffer of the sum.
ShardSum::Buffer* ShardSum::plan(ShardRange node, Additions& additions) {
  const auto closed = closed_.find(node);
  if (closed != closed_.end()) return closed->second;
  const auto [left, right] = halves(node);
  Buffer* const sum = plan(left, additions);
  additions.emplace_back(plan(right, additions), sum);
  return sum;
}

void ShardSum::merge(const Additions& additions, Stretch stretch) {
  for (const auto& [part, sum] : additions)
    add_and_clear(std::span(*part).subspan(stretch.first, stretch.count),
                  std::span(*sum).subspan(stretch.first, stretch.count));
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

/// Exchanges a piece of every slice at a time, so that little memory is needed.
void ShardSum::reduce(const Additions& local) {
  const int me = exchange_.rank(), ranks = exchange_.size();
  const auto range = static_cast<std::size_t>(kRangeSize);
  std::vector<ShardRange> leaves;
  std::vector<int> owners;
  std::size_t most = 0;  // leaves of a rank
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<ShardRange> nodes = nodes_within(block_of(shards_, rank, ranks), shards_);
    leaves.insert(leaves.end(), nodes.begin(), nodes.end());
    owners.insert(owners.end(), nodes.size(), rank);
    most = std::max(most, nodes.size());
  }
  std::vector<std::pair<std::size_t, std::size_t>> additions;
  plan_leaves({0, shards_}, leaves, additions);

  const Layout& layout = slices_.layout();
  const Stretch slice = slices_.of(me);
  squares_.assign((slice.count + range - 1) / range, 0);
  for (const Slices::Round& round : slices_.rounds(static_cast<std::size_t>(ranks - 1) * most)) {
    const auto numbers_of = [&](int rank) { return round.numbers[static_cast<std::size_t>(rank)]; };
    const std::size_t mine = numbers_of(me);
    std::vector<std::size_t> place(static_cast<std::size_t>(ranks));  // of what each rank is sent
    std::size_t sent = 0;
    for (const int rank : others(exchange_)) {
      place[static_cast<std::size_t>(rank)] = sent;
      sent += own_.size() * numbers_of(rank);
    }
    const std::span<float> out = slices_.outgoing(sent),
                           in = slices_.incoming((leaves.size() - own_.size()) * mine);

    slices_.for_parts(round, [&](const Slices::Part& part) {
      merge(local, part);
      if (part.rank == me) return;
      std::size_t at = place[static_cast<std::size_t>(part.rank)] + part.at;
      for (Buffer* const node : own_) {
        std::size_t next = at;
        layout.for_runs(part, [&](Stretch run) {
          move_and_clear(std::span(*node).subspan(run.first, run.count), out.subspan(next, run.count));
          next += run.count;
        });
        at += numbers_of(part.rank);
      }
    });

    std::vector<Exchange::Outgoing> send;
    for (const int rank : others(exchange_)) {
      for (std::size_t node = 0; node < own_.size(); ++node)
        send.push_back(
            {rank, std::as_bytes(out.subspan(place[static_cast<std::size_t>(rank)] + node * numbers_of(rank),
                                             numbers_of(rank)))});
    }
    std::vector<Exchange::Incoming> receive;
    for (const int owner : owners) {
      if (owner != me)
        receive.push_back({owner, std::as_writable_bytes(in.subspan(receive.size() * mine, mine))});
    }
    exchange_.transfer(send, receive);

    slices_.for_parts(round, [&](const Slices::Part& part) {
      if (part.rank != me) return;
      std::size_t at = part.at;
      std::vector<std::span<float>> values(leaves.size());
      layout.for_runs(part, [&](Stretch run) {
        std::size_t kept = 0, arrived = 0;
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf)
          values[leaf] = owners[leaf] == me ? std::span(*own_[kept++]).subspan(run.first, run.count)
                                            : in.subspan(arrived++ * mine + at, run.count);
        for (const auto& [from, to] : additions) add_and_clear(values[from], values[to]);
        if (owners.front() != me)
          std::ranges::copy(values.front(), std::span(*sum_).subspan(run.first).begin());
        at += run.count;
      });
      squares_[(part.first - slice.first) / range] =
          squared_norm<float>(std::span(*sum_).subspan(part.first, part.count));
    });
  }
}

}  // namespace heed
