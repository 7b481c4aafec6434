#include "io/foreign/exif.h"

#include <cstdint>

#include "base/error.h"

namespace heed::io {
namespace {

constexpr std::size_t kEntryBytes = 12;
constexpr std::uint64_t kOrientationTag = 0x0112, kShort = 3;

/// Numbers in the byte order that the header states.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {
    const auto first = bytes.size() < 8 ? 0 : std::to_integer<int>(bytes[0]);
    is_little_ = first == 'I';
    if ((first != 'I' && first != 'M') || bytes[0] != bytes[1] || at(2, 2) != 42)
      fail("Exif data that does not begin with a TIFF header");
  }
  std::uint64_t at(std::uint64_t offset, std::size_t count) const {
    if (offset > bytes_.size() || bytes_.size() - offset < count) fail("Exif data that is cut short");
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i)
      number =
          number << 8 | std::to_integer<std::uint64_t>(bytes_[offset + (is_little_ ? count - 1 - i : i)]);
    return number;
  }

 private:
  std::span<const std::byte> bytes_;
  bool is_little_ = false;
};

}  // namespace

Orientation orientation_of(std::span<const std::byte> exif) {
  const Numbers numbers(exif);
  const std::uint64_t directory = numbers.at(4, 4), entries = numbers.at(directory, 2);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t entry = directory + 2 + i * kEntryBytes;
    if (numbers.at(entry, 2) != kOrientationTag || numbers.at(entry + 2, 2) != kShort) continue;
    const std::uint64_t turn = numbers.at(entry + 8, 2);
    if (turn > 8) return {};
    return {turn >= 5, turn == 3 || turn == 4 || turn == 6 || turn == 7,
            turn == 2 || turn == 3 || turn == 7 || turn == 8};
  }
  return {};
}

}  // namespace heed::io
