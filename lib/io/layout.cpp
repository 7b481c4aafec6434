#include "io/layout.h"

#include "base/digest.h"

namespace heed::io {

std::uint64_t checksum_of(std::span<const std::string> text, const Shape& shape,
                          const std::vector<std::int64_t>& start) {
  std::uint64_t sum = 0;
  std::vector<std::int64_t> place = start;
  for (const std::string& s : text) {
    std::uint64_t h = kHashStart;
    for (const std::int64_t coordinate : place) h = hash_step(h, static_cast<std::uint64_t>(coordinate));
    if (!s.empty()) sum += hash(s, h);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++place[i] < start[i] + shape[i]) break;
      place[i] = start[i];
    }
  }
  return sum;
}

}  // namespace heed::io
