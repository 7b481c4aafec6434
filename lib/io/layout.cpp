#include "io/layout.h"

#include "base/digest.h"

namespace heed::io {

namespace {

/// Spreads every bit over all (the finalizer of MurmurHash3): the last steps of FNV-1a alone are so nearly
/// linear that the changes of a few short strings can cancel in a sum.
std::uint64_t spread(std::uint64_t h) {
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::string> text, const Shape& shape,
                          const std::vector<std::int64_t>& start) {
  std::uint64_t sum = 0;
  std::vector<std::int64_t> place = start;
  for (const std::string& s : text) {
    std::uint64_t h = kHashStart;
    for (const std::int64_t coordinate : place) h = hash_step(h, static_cast<std::uint64_t>(coordinate));
    if (!s.empty()) sum += spread(hash(s, h));
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++place[i] < start[i] + shape[i]) break;
      place[i] = start[i];
    }
  }
  return sum;
}

std::string digest_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&]<class T>(T) {
    const std::span<const T> values = tensor.values<T>();
    if constexpr (std::is_same_v<T, std::string>) {
      std::string all;
      for (const std::string& s : values) all.append(s).push_back('\0');
      return sha256_hex(all);
    } else {
      const auto bytes = std::as_bytes(values);
      return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  });
}

}  // namespace heed::io
