#include "io/fletcher32.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace heed::io {

namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kMostRounds = 360;  // until a lane's sum of sums could overflow

using Lanes = std::array<std::uint32_t, kLanes>;

std::uint64_t folded(std::uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

}  // namespace

// HDF5 file format specification, IV.A.2.l: the sum of the words, and the sum of the partial sums, both
// modulo 65535; as in H5_checksum_fletcher32, a sum that is a multiple of 65535 is 0 only if all words are 0.
// A block of words is summed in lanes, which the compiler vectorises: word i of n counts n - i times in the
// second sum, and word l of round r of R, in lane l, R - r times in its lane's.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0, sums = 0;
  const auto word_at = [](const std::byte* at) {
    return std::to_integer<std::uint32_t>(at[0]) << 8 | std::to_integer<std::uint32_t>(at[1]);
  };
  const std::byte* at = bytes.data();
  std::size_t words = bytes.size() / 2;
  while (words >= kLanes) {
    const std::size_t rounds = std::min(words / kLanes, kMostRounds), count = rounds * kLanes;
    Lanes lane{}, lane_sums{};
    for (std::size_t r = 0; r < rounds; ++r, at += 2 * kLanes) {
      std::array<std::uint16_t, kLanes> stored;
      std::memcpy(stored.data(), at, sizeof stored);
      for (std::size_t l = 0; l < kLanes; ++l) {
        lane[l] += static_cast<std::uint16_t>(stored[l] << 8 | stored[l] >> 8);
        lane_sums[l] += lane[l];
      }
    }
    sums += sum * count;
    for (std::size_t l = 0; l < kLanes; ++l) {
      sum += lane[l];
      sums += std::uint64_t{kLanes} * lane_sums[l] - std::uint64_t{l} * lane[l];
    }
    sum = folded(sum), sums = folded(sums);
    words -= count;
  }
  for (; words > 0; --words, at += 2) sums += sum += word_at(at);
  if (bytes.size() % 2 == 1) sums += sum += std::to_integer<std::uint32_t>(*at) << 8;
  return static_cast<std::uint32_t>(folded(sums) << 16 | folded(sum));
}

void put_fletcher32(std::span<const std::byte> bytes, std::span<std::byte, kFletcherBytes> sum) {
  std::uint32_t rest = fletcher32(bytes);
  for (std::byte& byte : sum) byte = static_cast<std::byte>(rest), rest >>= 8;
}

bool fits_fletcher32(std::span<const std::byte> bytes, std::span<const std::byte, kFletcherBytes> sum) {
  std::uint32_t stored = 0;
  for (std::size_t i = sum.size(); i-- > 0;) stored = stored << 8 | std::to_integer<std::uint32_t>(sum[i]);
  return stored == fletcher32(bytes);
}

}  // namespace heed::io
