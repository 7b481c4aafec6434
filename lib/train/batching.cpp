#include "train/batching.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tensor/philox.h"

namespace heed {

namespace {

/// Streams of the run's random numbers that no dropout uses (nn/scope.h counts streams from update 0 upward).
constexpr std::uint64_t sentence_stream = 0xba7c000000000000u;
constexpr std::uint64_t batch_stream = 0xba7d000000000000u;

/// Lengths that differ by fewer tokens than this may share a batch in any order.
constexpr double similar_length = 3;

std::int64_t length(const std::vector<TokenIds>& side, std::int64_t i) {
  return side.empty() ? 0 : static_cast<std::int64_t>(side[static_cast<std::size_t>(i)].size());
}

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// All sentences in order of length plus a little noise, then of source length.
std::vector<std::int64_t> sentences_by_length(const Corpus& corpus, double noise, Random& random) {
  using Key = std::tuple<double, std::int64_t, std::int64_t>;  // learned, source, index
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < corpus.size(); ++i) {
    const double shift = noise > 0 ? noise * random.uniform() : 0.0;
    keys.emplace_back(static_cast<double>(corpus.length(i)) + shift, length(corpus.source, i), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> order;
  for (const Key& key : keys) order.push_back(std::get<2>(key));
  return order;
}

/// Cuts `sentences` where the running sum of their tokens passes k / n of the total.
std::vector<std::vector<std::int64_t>> split_evenly(const Corpus& corpus,
                                                    const std::vector<std::int64_t>& sentences,
                                                    std::int64_t shards) {
  auto tokens = [&](std::int64_t i) { return length(corpus.source, i) + length(corpus.target, i); };
  std::int64_t total = 0;
  for (std::int64_t i : sentences) total += tokens(i);

  std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(shards));
  std::int64_t before = 0;
  for (std::int64_t i : sentences) {
    const std::int64_t middle = 2 * before + tokens(i);  // of this sentence, in half tokens
    parts[static_cast<std::size_t>(middle * shards / (2 * total))].push_back(i);
    before += tokens(i);
  }
  return parts;
}

std::vector<Batch> cut(const Corpus& corpus, const std::vector<std::int64_t>& order,
                       std::int64_t batch_tokens, std::int64_t shards) {
  std::vector<Batch> batches;
  std::vector<std::int64_t> sentences;
  std::int64_t tokens = 0;
  auto close = [&] {
    if (sentences.empty()) return;
    batches.push_back({split_evenly(corpus, sentences, shards), tokens});
    sentences.clear();
    tokens = 0;
  };
  for (std::int64_t i : order) {
    const std::int64_t more = corpus.length(i);
    if (tokens + more > batch_tokens) close();
    sentences.push_back(i);
    tokens += more;
  }
  close();
  return batches;
}

}  // namespace

std::vector<Batch> make_batches(const Corpus& corpus, std::int64_t batch_tokens, std::int64_t shards,
                                std::uint64_t seed, std::int64_t epoch) {
  Random sentence_random(seed, sentence_stream + static_cast<std::uint64_t>(epoch));
  const auto order = sentences_by_length(corpus, similar_length, sentence_random);
  std::vector<Batch> batches = cut(corpus, order, batch_tokens, shards);
  Random batch_random(seed, batch_stream + static_cast<std::uint64_t>(epoch));
  shuffle(batches, batch_random);
  return batches;
}

std::vector<Batch> make_validation_batches(const Corpus& corpus, std::int64_t batch_tokens) {
  Random unused(0, 0);
  return cut(corpus, sentences_by_length(corpus, 0, unused), batch_tokens, 1);
}

}  // namespace heed
