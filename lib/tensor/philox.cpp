#include "tensor/philox.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace heed {
namespace {

struct HighLow {
  std::uint32_t high, low;
};

HighLow multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::uint32_t key0 = low(seed), key1 = high(seed);
  std::array<std::uint32_t, 4> x = {low(counter), high(counter), low(stream), high(stream)};
  for (int round = 0; round < 10; ++round) {
    const HighLow a = multiply(0xD2511F53u, x[0]);
    const HighLow b = multiply(0xCD9E8D57u, x[2]);
    x = {b.high ^ x[1] ^ key0, b.low, a.high ^ x[3] ^ key1, a.low};
    key0 += 0x9E3779B9u;  // golden ratio
    key1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return x;
}

std::uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox(seed_, stream_, counter_++);
    used_ = 0;
  }
  return block_[used_++];
}

double Random::uniform() {
  const std::uint64_t high = bits() >> 5, low = bits() >> 6;  // 27 + 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Random::normal() {
  // Box, Muller 1958. The second number of each pair is dropped: that keeps the generator free of further
  // state.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t first_fair = -bound % bound;  // 2^64 mod bound draws are too many
  while (true) {
    const std::uint64_t high = bits();
    const std::uint64_t draw = high << 32 | bits();
    if (draw >= first_fair) return draw % bound;
  }
}

Dropout make_dropout(double p, std::uint64_t seed, std::uint64_t stream) {
  if (!(p >= 0 && p < 1)) fail<UsageError>("dropout ", p, ": wanted a probability of at least 0 and below 1");
  const auto threshold = static_cast<std::uint32_t>(std::lround(p * 65536));
  return {threshold < 65536 ? threshold : 65535, seed, stream};
}

}  // namespace heed
