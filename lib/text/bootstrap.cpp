#include "text/bootstrap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace heed::text {
namespace {

/// The first 256 bits of numpy.random.SeedSequence(seed): O'Neill 2015, "Developing a seed_seq Alternative",
/// with NumPy's constants, which hash the seed into a pool of four words and the pool into any number of
/// words.
std::array<std::uint64_t, 4> seed_words(std::uint64_t seed) {
  std::array<std::uint32_t, 4> pool{};
  std::uint32_t constant = 0x43b0d7e5;
  auto hashed = [&](std::uint32_t value) {
    value ^= constant;
    constant *= 0x931e8875;
    value *= constant;
    return value ^ (value >> 16);
  };
  pool[0] = static_cast<std::uint32_t>(seed);
  pool[1] = static_cast<std::uint32_t>(seed >> 32);
  for (std::uint32_t& word : pool) word = hashed(word);
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from == to) continue;
      const std::uint32_t mixed = pool[to] * 0xca01f9dd - hashed(pool[from]) * 0x4973f715;
      pool[to] = mixed ^ (mixed >> 16);
    }
  }
  std::array<std::uint64_t, 4> words{};
  constant = 0x8b51f9dd;
  for (std::size_t i = 0; i < 2 * words.size(); ++i) {
    std::uint32_t value = pool[i % pool.size()] ^ constant;
    constant *= 0x58f38ded;
    value *= constant;
    value ^= value >> 16;
    words[i / 2] |= std::uint64_t{value} << (i % 2 * 32);
  }
  return words;
}

unsigned __int128 joined_words(std::uint64_t high, std::uint64_t low) {
  return static_cast<unsigned __int128>(high) << 64 | low;
}

}  // namespace

SentenceSamples::SentenceSamples(std::int64_t sentences, std::uint64_t seed) {
  if (sentences < 1 || sentences > std::numeric_limits<std::int32_t>::max())
    fail("bootstrap resampling: ", sentences, " sentences, wanted 1 to ",
         std::numeric_limits<std::int32_t>::max());
  sample_.resize(static_cast<std::size_t>(sentences));
  const std::array<std::uint64_t, 4> words = seed_words(seed);
  increment_ = joined_words(words[2], words[3]) << 1 | 1;
  next64();
  state_ += joined_words(words[0], words[1]);
  next64();
}

std::uint64_t SentenceSamples::next64() {
  state_ = state_ * joined_words(0x2360ed051fc65da4, 0x4385df649fccf645) + increment_;
  const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t SentenceSamples::next32() {
  has_spare_ = !has_spare_;
  if (has_spare_) spare_ = next64();
  return static_cast<std::uint32_t>(has_spare_ ? spare_ : spare_ >> 32);
}

const std::vector<std::uint32_t>& SentenceSamples::next() {
  const auto n = static_cast<std::uint32_t>(sample_.size());
  if (n == 1) return sample_;  // nothing is drawn
  // Lemire 2019, "Fast Random Integer Generation in an Interval": the high half of the product, unless its
  // low half is one of the few that would be drawn too often.
  const std::uint32_t too_often = -n % n;
  for (std::uint32_t& drawn : sample_) {
    std::uint64_t product = 0;
    do {
      product = std::uint64_t{next32()} * n;
    } while (static_cast<std::uint32_t>(product) < too_often);
    drawn = static_cast<std::uint32_t>(product >> 32);
  }
  return sample_;
}

std::vector<double> resampled_scores(const Metric& metric, const std::vector<Statistics>& sentences,
                                     const Resampling& resampling) {
  SentenceSamples samples(std::ssize(sentences), static_cast<std::uint64_t>(resampling.seed));
  std::vector<double> scores;
  for (std::int64_t i = 0; i < resampling.samples; ++i) {
    Statistics sum;
    for (const std::uint32_t sentence : samples.next()) add_to(sum, sentences[sentence]);
    scores.push_back(metric.score(sum).score);
  }
  return scores;
}

Interval interval_of(std::vector<double> scores) {
  std::ranges::sort(scores);
  const std::size_t outside = scores.size() / 40;
  return {std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size()),
          (scores[scores.size() - outside - 1] - scores[outside]) / 2};
}

double p_value(const std::vector<double>& baseline, const std::vector<double>& system, double difference) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < baseline.size(); ++i) differences.push_back(std::abs(system[i] - baseline[i]));
  const auto samples = static_cast<double>(differences.size());
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / samples;
  const auto larger =
      std::ranges::count_if(differences, [&](double d) { return d - mean > std::abs(difference); });
  return (static_cast<double>(larger) + 1) / (samples + 1);
}

}  // namespace heed::text
