#include "io/digest.h"

#include <openssl/evp.h>

#include "base/error.h"

namespace heed::io {

std::string sha256_hex(std::string_view bytes) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (!EVP_Digest(bytes.data(), bytes.size(), hash, &size, EVP_sha256(), nullptr)) {
    fail("cannot compute a SHA-256 digest: libcrypto refused");
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[hash[i] >> 4];
    hex += digits[hash[i] & 15];
  }
  return hex;
}

}  // namespace heed::io
