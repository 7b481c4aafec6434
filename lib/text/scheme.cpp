#include "text/scheme.h"

namespace heed::text {

std::string escape_special(std::string_view piece, const Vocabulary& vocabulary) {
  std::string_view bare = piece.substr(std::min(piece.find_first_not_of('\\'), piece.size()));
  return (vocabulary.is_special(bare) && piece != vocabulary.mask() ? "\\" : "") + std::string(piece);
}

std::string unescape_special(std::string_view piece, const Vocabulary& vocabulary) {
  std::string_view bare = piece.substr(std::min(piece.find_first_not_of('\\'), piece.size()));
  if (piece.size() > bare.size() && vocabulary.is_special(bare)) piece.remove_prefix(1);
  return std::string(piece);
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace heed::text
