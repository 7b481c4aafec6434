#include "train/batching.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace heed {

namespace {

/// Streams of the run's random numbers that no dropout uses (nn/scope.h counts streams from update 0 upward).
constexpr std::uint64_t kSentenceStream = 0xba7c000000000000u;
constexpr std::uint64_t kBatchStream = 0xba7d000000000000u;

/// Lengths that differ by fewer tokens than this may share a batch in any order.
constexpr double kSimilarLength = 3;

std::int64_t length(const Sentences& side, std::int64_t i) {
  return side.empty() ? 0 : side.length(i);
}

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// All sentences in order of length plus a little noise, then of source length.
std::vector<std::uint32_t> sentences_by_length(const Corpus& corpus, double noise, Random& random) {
  struct Key {
    double learned;
    std::uint32_t source, index;
    auto tied() const { return std::tie(learned, source, index); }
    bool operator<(const Key& other) const { return tied() < other.tied(); }
  };
  if (corpus.size() > UINT32_MAX)
    fail("a corpus of ", corpus.size(), " sentences, wanted at most ", UINT32_MAX);
  std::vector<Key> keys(static_cast<std::size_t>(corpus.size()));
  for (std::int64_t i = 0; i < corpus.size(); ++i) {
    const double shift = noise > 0 ? noise * random.uniform() : 0.0;
    keys[static_cast<std::size_t>(i)] = {static_cast<double>(corpus.length(i)) + shift,
                                         static_cast<std::uint32_t>(length(corpus.source, i)),
                                         static_cast<std::uint32_t>(i)};
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(keys.size());
  std::ranges::transform(keys, order.begin(), &Key::index);
  return order;
}

/// Splits `sentences` where the running sum of their tokens passes k / n of the total.
std::vector<std::vector<std::int64_t>> split_evenly(const Corpus& corpus,
                                                    std::span<const std::uint32_t> sentences,
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

}  // namespace

Batches::Batches(const Corpus& corpus, std::vector<std::uint32_t> order, std::int64_t batch_tokens,
                 std::int64_t shards)
    : corpus_(&corpus), shards_(shards), order_(std::move(order)) {
  Cut cut{0, 0, 0};
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    const std::int64_t more = corpus.length(order_[at]);
    if (cut.tokens + more > batch_tokens && cut.end > cut.begin) {
      cuts_.push_back(cut);
      cut = {at, at, 0};
    }
    cut.end = at + 1;
    cut.tokens += more;
  }
  if (cut.end > cut.begin) cuts_.push_back(cut);
}

void Batches::shuffle(Random& random) {
  heed::shuffle(cuts_, random);
}

Batch Batches::operator[](std::size_t i) const {
  const Cut& cut = cuts_[i];
  return {split_evenly(*corpus_, std::span(order_).subspan(cut.begin, cut.end - cut.begin), shards_),
          cut.tokens};
}

Batches make_batches(const Corpus& corpus, std::int64_t batch_tokens, std::int64_t shards, std::uint64_t seed,
                     std::int64_t epoch) {
  Random sentence_random(seed, kSentenceStream + static_cast<std::uint64_t>(epoch));
  Batches batches(corpus, sentences_by_length(corpus, kSimilarLength, sentence_random), batch_tokens, shards);
  Random batch_random(seed, kBatchStream + static_cast<std::uint64_t>(epoch));
  batches.shuffle(batch_random);
  return batches;
}

std::vector<Batch> make_validation_batches(const Corpus& corpus, std::int64_t batch_tokens) {
  Random unused(0, 0);
  std::vector<Batch> all;
  for (Batch batch : Batches(corpus, sentences_by_length(corpus, 0, unused), batch_tokens, 1))
    all.push_back(std::move(batch));
  return all;
}

}  // namespace heed
