#include "train/shard_tree.h"

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

ShardSum::ShardSum(std::size_t size, int threads) : size_(size), threads_(threads) {
  sum_ = &buffers_.emplace_back(size);
}

void ShardSum::begin(std::int64_t shards) {
  shards_ = shards;
  opened_ = 0;
  most_ = threads_ + std::bit_width(static_cast<std::uint64_t>(shards - 1));
  failed_ = false;
  closed_.clear();
  free_.clear();
  for (Buffer& buffer : buffers_) free_.push_back(&buffer);
}

void ShardSum::add(std::int64_t shards, const std::function<void(std::int64_t, float*)>& compute) {
  begin(shards);
  try {
    parallel_for(shards, threads_, [&](std::int64_t shard) {
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
  while (opened_ < shards_) {
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
ShardSum::Buffer* ShardSum::plan(ShardRange node, std::vector<std::pair<Buffer*, Buffer*>>& additions) {
  const auto closed = closed_.find(node);
  if (closed != closed_.end()) return closed->second;
  const auto [left, right] = halves(node);
  Buffer* const sum = plan(left, additions);
  additions.emplace_back(plan(right, additions), sum);
  return sum;
}

double ShardSum::finish() {
  std::vector<std::pair<Buffer*, Buffer*>> additions;
  sum_ = plan({0, shards_}, additions);
  const auto size = static_cast<std::int64_t>(size_);
  std::vector<double> squares(static_cast<std::size_t>(range_count(size)));
  for_ranges(size, threads_, [&](std::int64_t range, std::size_t first, std::size_t count) {
    for (const auto& [part, sum] : additions)
      add_and_clear(std::span(*part).subspan(first, count), std::span(*sum).subspan(first, count));
    squares[static_cast<std::size_t>(range)] = squared_norm<float>(std::span(*sum_).subspan(first, count));
  });
  double total = 0;
  for (double s : squares) total += s;
  return std::sqrt(total);
}

}  // namespace heed
