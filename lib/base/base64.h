// Bytes as text (RFC 4648, section 4), for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace heed {

/// `bytes` in base64 with padding: "heed" becomes "aGVlZA==".
std::string base64(std::string_view bytes);

}  // namespace heed
