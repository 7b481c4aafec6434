// Digests identify the content of vocabularies, models and corpora; base64 and a hash of names are here too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace heed {

/// SHA-256 of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();
  void add(std::string_view bytes);
  /// Adds a line of a text and its end.
  void add_line(std::string_view line);
  /// 64 lower-case hexadecimal digits; nothing can be added any more.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of `bytes` in 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// `bytes` in base64 with padding (RFC 4648, section 4), for HTML pages: "heed" becomes "aGVlZA==".
std::string base64(std::string_view bytes);
/// Decodes base64; nothing if `text` is not valid base64.
std::optional<std::string> from_base64(const std::string& text);

/// FNV-1a, 64 bits: the initial hash, and the hash after one more step.
inline constexpr std::uint64_t kHashStart = 14695981039346656037ull;
inline std::uint64_t hash_step(std::uint64_t h, std::uint64_t value) {
  return (h ^ value) * 1099511628211ull;
}
/// Hashes the bytes of `text`. Gives a parameter a Philox stream that depends only on its name.
inline std::uint64_t hash(std::string_view text, std::uint64_t h = kHashStart) {
  for (unsigned char c : text) h = hash_step(h, c);
  return h;
}

}  // namespace heed
