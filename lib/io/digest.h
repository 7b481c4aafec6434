// Fingerprints of models and vocabularies.
#pragma once

#include <string>
#include <string_view>

namespace heed::io {

/// SHA-256 of `bytes` as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace heed::io
