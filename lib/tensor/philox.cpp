#include "tensor/philox.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace heed {

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto block = r123::Philox4x32()({{low(counter), high(counter), low(stream), high(stream)}},
                                        {{low(seed), high(seed)}});
  return {block[0], block[1], block[2], block[3]};
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
  // Box, Muller 1958. The second number of each pair is discarded, so that the generator needs no more state.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t first_fair =
      -bound % bound;  // rejecting the first 2^64 mod bound values makes the rest a multiple of bound
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
