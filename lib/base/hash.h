// Hash of a name.
#pragma once

#include <cstdint>
#include <string_view>

namespace heed {

/// FNV-1a, 64 bits. Gives a parameter a Philox stream that depends on its name only.
inline std::uint64_t hash(std::string_view name) {
  std::uint64_t h = 14695981039346656037ull;
  for (unsigned char c : name) h = (h ^ c) * 1099511628211ull;
  return h;
}

}  // namespace heed
