#include "io/layout.h"

#include <type_traits>

#include "base/digest.h"
#include "io/copy_part.h"
#include "io/superblock.h"

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
  const Shape one(shape.size(), 1);
  Shape place = start, end = start;
  for (std::size_t i = 0; i < end.size(); ++i) end[i] += shape[i];
  for (const std::string& s : text) {
    std::uint64_t h = kHashStart;
    for (const std::int64_t coordinate : place) h = hash_step(h, static_cast<std::uint64_t>(coordinate));
    if (!s.empty()) sum += spread(hash(s, h));
    next_block(place, start, one, end);
  }
  return sum;
}

std::span<const std::byte> numbers_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&]<class T>(T) -> std::span<const std::byte> {
    if constexpr (std::is_arithmetic_v<T>) return std::as_bytes(tensor.values<T>());
    return {};
  });
}

std::string digest_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::string) return sha256_hex(text_of(numbers_of(tensor)));
  std::string all;
  for (const std::string& s : tensor.values<std::string>()) all.append(s).push_back('\0');
  return sha256_hex(all);
}

}  // namespace heed::io
