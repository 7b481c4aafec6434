#include "train/shard_tree.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>
#include <thread>

#include "support/spread_layout.h"
#include "support/thread_exchange.h"
#include "train/ranges.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr std::size_t size = kRangeSize + 5;  // two ranges

/// What a shard adds: numbers whose sum depends on the order.
std::vector<float> part(std::int64_t shard) {
  std::mt19937 random(static_cast<unsigned>(shard));
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& x : values) x = normal(random);
  return values;
}

std::vector<float> added(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < size; ++i) a[i] += b[i];
  return a;
}

/// The definition.
std::vector<float> tree(const std::vector<std::vector<float>>& parts, std::size_t lo, std::size_t hi) {
  if (hi - lo == 1) return parts[lo];
  std::size_t half = 1;
  while (2 * half < hi - lo) half *= 2;
  return added(tree(parts, lo, lo + half), tree(parts, lo + half, hi));
}

std::int64_t log2_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(n))));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shard_tree)

BOOST_AUTO_TEST_CASE(is_the_recursive_sum_for_any_number_of_threads_in_few_buffers) {
  std::vector<std::vector<float>> parts;
  for (std::int64_t shard = 0; shard < 70; ++shard) parts.push_back(part(shard));
  std::int64_t other_than_in_order = 0;
  for (const std::int64_t shards : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 31, 33, 64, 70}) {
    const std::vector<float> wanted = tree(parts, 0, static_cast<std::size_t>(shards));
    std::vector<float> in_order = parts[0];
    for (std::int64_t i = 1; i < shards; ++i) in_order = added(in_order, parts[static_cast<std::size_t>(i)]);
    BOOST_TEST((shards > 3 || in_order == wanted));
    other_than_in_order += in_order != wanted;
    double norm = -1;
    for (const int threads : {1, 2, 4}) {
      ShardSum sum(Layout(size), threads);
      for (int repetition = 0; repetition < 2; ++repetition) {
        std::atomic<std::int64_t> begun{0};
        sum.add(shards, [&](std::int64_t shard, float* to) {
          ++begun;
          // The first shard is the last to end: the others go as far as they can.
          const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
          while (shard == 0 && threads > 1 && begun < shards && std::chrono::steady_clock::now() < patience)
            std::this_thread::yield();
          for (std::size_t i = 0; i < size; ++i) to[i] += parts[static_cast<std::size_t>(shard)][i];
        });
        const double found = norm_of(sum.finish());
        if (norm < 0) norm = found;
        BOOST_TEST(norm == found);
        BOOST_TEST((std::equal(wanted.begin(), wanted.end(), sum.sum().begin())),
                   shards << " shards, " << threads << " threads");
        std::fill(sum.sum().begin(), sum.sum().end(), 0.0f);
      }
      BOOST_TEST(sum.buffers() <= std::min(shards, threads + log2_up(shards)));
    }
    double squares = 0;
    for (const float x : wanted) squares += static_cast<double>(x) * static_cast<double>(x);
    BOOST_TEST(norm == std::sqrt(squares), boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(other_than_in_order == 13);  // all beyond three shards
}

BOOST_AUTO_TEST_CASE(a_failed_shard_ends_the_sum_and_the_next_begins_with_zeros) {
  for (const int threads : {1, 4}) {
    ShardSum sum(Layout(size), threads);
    auto one = [](float* to) { to[0] += 1; };
    BOOST_CHECK_THROW(sum.add(40,
                              [&](std::int64_t shard, float* to) {
                                one(to);
                                if (shard == 7) throw std::runtime_error("shard 7");
                              }),
                      std::runtime_error);
    sum.add(40, [&](std::int64_t, float* to) { one(to); });
    BOOST_TEST(norm_of(sum.finish()) == 40.0);
  }
}

BOOST_AUTO_TEST_CASE(ranks_have_all_shards_in_few_whole_nodes) {
  for (std::int64_t shards = 1; shards <= 70; ++shards) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ShardRange block = block_of(shards, rank, ranks);
        BOOST_REQUIRE(block.first == next);
        BOOST_REQUIRE(block.first < block.end);
        for (const ShardRange node : nodes_within(block, shards)) {
          BOOST_REQUIRE(node.first == next);
          next = node.end;
        }
        BOOST_REQUIRE(next == block.end);
        const auto nodes = static_cast<std::int64_t>(nodes_within(block, shards).size());
        BOOST_REQUIRE(nodes <= 2 * log2_up(block.end - block.first) + 1);
        const bool power_of_two = shards % ranks == 0 && ((shards / ranks) & (shards / ranks - 1)) == 0;
        BOOST_REQUIRE((!power_of_two || nodes == 1));
      }
      BOOST_REQUIRE(next == shards);
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_own_slices_of_the_sum_on_one_rank) {
  const Layout layout = spread_layout();  // 8 ranges
  auto values = [&](std::int64_t shard, float* to) {
    std::minstd_rand random(static_cast<unsigned>(shard + 1));
    layout.for_runs({0, layout.size()}, [&](Stretch run) {
      for (std::size_t i = run.first; i < run.end(); ++i) to[i] += static_cast<float>(random()) * 1e-9f - 1;
    });
  };
  for (const std::int64_t shards : {1, 2, 3, 5, 8, 13}) {
    ShardSum whole(layout, 1);
    whole.add(shards, values);
    const std::vector<double> squares = whole.finish();
    for (const int ranks : {1, 2, 3, 5, 8, 11}) {
      if (ranks > shards) continue;
      run_ranks(ranks, [&](Exchange& exchange) {
        ShardSum sum(layout, 2, exchange, shards % 2 == 0 ? 1 : Slices::kRoundBytes);
        for (int repetition = 0; repetition < 2; ++repetition) {
          sum.add(shards, values);
          const std::vector<double> own = sum.finish();
          const Stretch slice = sum.slices().of(exchange.rank());
          for (std::size_t i = 0; i < layout.size(); ++i) {
            const bool is_own = slice.first <= i && i < slice.end();
            const float wanted = is_own ? whole.sum()[i] : 0;
            if (sum.sum()[i] != wanted)
              throw std::logic_error(concat("element ", i, " of rank ", exchange.rank()));
          }
          if (!std::equal(own.begin(), own.end(),
                          squares.begin() + static_cast<std::ptrdiff_t>(slice.first / kRangeSize)))
            throw std::logic_error(concat("squares of rank ", exchange.rank()));
          std::ranges::fill(sum.sum(), 0.0f);
        }
        const ShardRange block = block_of(shards, exchange.rank(), ranks);
        const std::int64_t most = std::min(block.end - block.first, 2 + 2 * log2_up(block.end - block.first));
        if (sum.buffers() > std::max<std::int64_t>(most, 1)) throw std::logic_error("too many buffers");
      });
    }
  }
}

/// Of 8 shards the first of 3 ranks has one node, the others have two: all must cut their slices into the
/// same pieces.
BOOST_AUTO_TEST_CASE(ranks_with_other_numbers_of_nodes_send_pieces_of_one_size) {
  constexpr std::size_t elements = 30 * kRangeSize, round_bytes = 4 << 20;  // pieces of 8 of 10 ranges
  const auto values = [](std::int64_t shard, float* to) {
    for (std::size_t i = 0; i < elements; ++i)
      to[i] += static_cast<float>(shard + static_cast<std::int64_t>(i % 7));
  };
  run_ranks(3, [&](Exchange& exchange) {
    ShardSum sum(Layout(elements), 1, exchange, round_bytes);
    sum.add(8, values);
    sum.finish();
    const Stretch slice = sum.slices().of(exchange.rank());
    for (std::size_t i = slice.first; i < slice.end(); ++i) {
      if (sum.sum()[i] != static_cast<float>(28 + 8 * (i % 7)))
        throw std::logic_error(concat("element ", i, " of rank ", exchange.rank()));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
