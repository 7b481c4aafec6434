#include "train/batching.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <tuple>

#include "support.h"

using namespace heed;
using namespace heed::test;

namespace {

std::vector<std::int64_t> pairs_of(const Batch& batch) {
  std::vector<std::int64_t> pairs;
  for (const auto& shard : batch.shards) pairs.insert(pairs.end(), shard.begin(), shard.end());
  return pairs;
}

std::vector<std::int64_t> pairs_of(const Batches& batches) {
  std::vector<std::int64_t> pairs;
  for (const Batch& batch : batches) {
    for (const std::int64_t pair : pairs_of(batch)) pairs.push_back(pair);
  }
  return pairs;
}

std::int64_t target_length(const Corpus& corpus, std::int64_t pair) {
  return static_cast<std::int64_t>(corpus.target[static_cast<std::size_t>(pair)].size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batching)

BOOST_AUTO_TEST_CASE(every_pair_once_and_no_batch_too_large) {
  const Corpus corpus = reversing_corpus(501, 1);
  const auto batches = make_batches(corpus, 97, 4, 7, 0);
  std::vector<std::int64_t> pairs = pairs_of(batches);
  std::sort(pairs.begin(), pairs.end());
  BOOST_REQUIRE(pairs.size() == 501u);
  for (std::size_t i = 0; i < pairs.size(); ++i) BOOST_TEST(pairs[i] == static_cast<std::int64_t>(i));

  for (const Batch& batch : batches) {
    BOOST_TEST(batch.shards.size() == 4u);
    std::int64_t tokens = 0;
    for (std::int64_t pair : pairs_of(batch)) tokens += target_length(corpus, pair);
    BOOST_TEST(tokens == batch.tokens);
    BOOST_TEST(tokens <= 97);
  }
  BOOST_TEST(batches.size() < 501u / 15);  // well filled: sentences have 2 to 7 tokens
}

BOOST_AUTO_TEST_CASE(order_depends_on_seed_and_epoch_alone) {
  const Corpus corpus = reversing_corpus(200, 1);
  const auto first = pairs_of(make_batches(corpus, 50, 3, 7, 0));
  BOOST_TEST(first == pairs_of(make_batches(corpus, 50, 3, 7, 0)));
  BOOST_TEST(first != pairs_of(make_batches(corpus, 50, 3, 7, 1)));
  BOOST_TEST(first != pairs_of(make_batches(corpus, 50, 3, 8, 0)));
}

/// What make_batches() gives, written down as it is defined: all batches with all their shards.
std::vector<Batch> batches_by_definition(const Corpus& corpus, std::int64_t batch_tokens, std::int64_t shards,
                                         std::uint64_t seed, std::int64_t epoch) {
  Random noise(seed, 0xba7c000000000000u + static_cast<std::uint64_t>(epoch));
  std::vector<std::tuple<double, std::size_t, std::size_t>> keys;
  for (std::size_t i = 0; i < corpus.target.size(); ++i)
    keys.emplace_back(static_cast<double>(corpus.target[i].size()) + 3 * noise.uniform(),
                      corpus.source[i].size(), i);
  std::sort(keys.begin(), keys.end());
  std::vector<std::vector<std::size_t>> cut(1);
  std::int64_t sum = 0;
  for (const auto& [length, source, i] : keys) {
    const std::int64_t tokens = std::ssize(corpus.target[i]);
    if (sum + tokens > batch_tokens && !cut.back().empty()) cut.emplace_back(), sum = 0;
    cut.back().push_back(i);
    sum += tokens;
  }
  std::vector<Batch> batches;
  for (const auto& sentences : cut) {
    Batch batch{std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(shards)), 0};
    std::int64_t total = 0, before = 0;
    const auto both = [&](std::size_t i) {
      return std::ssize(corpus.source[i]) + std::ssize(corpus.target[i]);
    };
    for (const std::size_t i : sentences) total += both(i);
    for (const std::size_t i : sentences) {
      const std::int64_t shard = (2 * before + both(i)) * shards / (2 * total);
      batch.shards[static_cast<std::size_t>(shard)].push_back(static_cast<std::int64_t>(i));
      before += both(i);
      batch.tokens += std::ssize(corpus.target[i]);
    }
    batches.push_back(batch);
  }
  Random order(seed, 0xba7d000000000000u + static_cast<std::uint64_t>(epoch));
  for (std::size_t i = batches.size(); i > 1; --i) std::swap(batches[i - 1], batches[order.below(i)]);
  return batches;
}

BOOST_AUTO_TEST_CASE(order_is_as_defined) {
  for (const std::uint64_t seed : {1u, 7u}) {
    const Corpus corpus = reversing_corpus(300, seed);
    const Batches batches = make_batches(corpus, 61, 5, seed, 2);
    const std::vector<Batch> wanted = batches_by_definition(corpus, 61, 5, seed, 2);
    BOOST_REQUIRE(batches.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      BOOST_TEST((batches[i].shards == wanted[i].shards));
      BOOST_TEST(batches[i].tokens == wanted[i].tokens);
      BOOST_TEST(batches.tokens(i) == wanted[i].tokens);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_holds_sentences_of_similar_length) {
  const Corpus corpus = reversing_corpus(2000, 1);
  for (const Batch& batch : make_batches(corpus, 60, 2, 7, 3)) {
    std::int64_t shortest = 100, longest = 0;
    for (std::int64_t pair : pairs_of(batch)) {
      shortest = std::min(shortest, target_length(corpus, pair));
      longest = std::max(longest, target_length(corpus, pair));
    }
    BOOST_TEST(longest - shortest <= 3);
  }
}

BOOST_AUTO_TEST_CASE(shards_are_balanced) {
  const Corpus corpus = reversing_corpus(400, 1);
  for (const Batch& batch : make_batches(corpus, 200, 4, 7, 0)) {
    if (batch.tokens < 150) continue;  // the last one
    for (const auto& shard : batch.shards) {
      std::int64_t tokens = 0;
      for (std::int64_t pair : shard) tokens += target_length(corpus, pair);
      BOOST_TEST(std::abs(tokens - batch.tokens / 4) <= 8);  // a sentence more or less
    }
  }
}

BOOST_AUTO_TEST_CASE(few_or_long_sentences) {
  Corpus one = reversing_corpus(1, 1);
  const auto batches = make_batches(one, 4096, 5, 1, 0);
  BOOST_REQUIRE(batches.size() == 1u);
  BOOST_TEST(pairs_of(batches).size() == 1u);

  const auto tiny =
      make_batches(reversing_corpus(9, 1), 1, 2, 1, 0);  // every sentence is longer than the limit
  BOOST_TEST(tiny.size() == 9u);
}

BOOST_AUTO_TEST_SUITE_END()
