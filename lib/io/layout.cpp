#include "io/layout.h"

namespace heed::io {
namespace {

// FNV-1a, 64 bits.
constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;

}  // namespace

std::uint64_t checksum_of(std::span<const std::string> text, const Shape& shape,
                          const std::vector<std::int64_t>& start) {
  std::uint64_t sum = 0;
  std::vector<std::int64_t> place = start;
  for (const std::string& s : text) {
    std::uint64_t hash = kBasis;
    for (const std::int64_t coordinate : place)
      hash = (hash ^ static_cast<std::uint64_t>(coordinate)) * kPrime;
    for (const char c : s) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    if (!s.empty()) sum += hash;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++place[i] < start[i] + shape[i]) break;
      place[i] = start[i];
    }
  }
  return sum;
}

}  // namespace heed::io
