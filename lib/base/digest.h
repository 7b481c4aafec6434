// Digests identify the content of vocabularies, models and corpora.
#pragma once

#include <string>
#include <string_view>

namespace heed {

/// SHA-256 of `bytes` in 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace heed
