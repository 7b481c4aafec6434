#include "draw/print/npy.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "draw/select/values.h"
#include "text/unicode.h"

namespace heed::draw {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are written as they lie in memory");

/// The code points of `text`.
std::u32string code_points(const std::string& text) {
  const std::string valid = text::replace_invalid_utf8(text);
  std::u32string points;
  for (std::string_view character : text::characters(valid)) points += text::code_point(character);
  return points;
}

/// Strings of equal width, padded with zeros.
std::pair<std::string, std::string> unicode_array(std::span<const std::string> values) {
  std::vector<std::u32string> texts;
  std::size_t width = 1;
  for (const auto& value : values) {
    texts.push_back(code_points(value));
    width = std::max(width, texts.back().size());
  }
  std::string bytes(texts.size() * width * 4, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(bytes.data() + i * width * 4, texts[i].data(), texts[i].size() * 4);
  }
  return {concat("<U", width), bytes};
}

template <class T>
std::string type_code() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return concat(sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

std::string header(const std::string& type, const Shape& shape) {
  std::string sizes;
  for (std::int64_t size : shape) sizes += concat(size, ", ");
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  std::string text = concat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", sizes, "), }");
  const std::size_t start = 10;  // magic, version, length of the header
  text.resize((start + text.size() + 1 + 63) / 64 * 64 - start - 1, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace

std::string npy(const Tensor& tensor) {
  return visit_values(tensor, [&]<class T>(std::span<const T> values) {
    if constexpr (std::is_same_v<T, std::string>) {
      const auto [type, bytes] = unicode_array(values);
      return header(type, tensor.shape()) + bytes;
    } else {
      return header(type_code<T>(), tensor.shape())
          .append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
  });
}

}  // namespace heed::draw
