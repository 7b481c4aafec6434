#include "text/scheme.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

class CharScheme : public Scheme {
 public:
  explicit CharScheme(Vocabulary vocabulary) : Scheme(std::move(vocabulary)) {}

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<std::int32_t> ids;
    for (const std::string& piece : char_pieces(line, vocabulary())) ids.push_back(vocabulary().id(piece));
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (std::int32_t id : ids) {
      const std::string& piece = vocabulary().piece(id);
      if (piece == kSpaceSymbol) {
        text += ' ';
      } else {
        text += piece.size() > 1 && piece[0] == '\\' ? piece.substr(1) : piece;
      }
    }
    return text;
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    return piece == kSpaceSymbol;
  }
};

}  // namespace

std::vector<std::string> char_pieces(std::string_view line, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  const std::string_view mask = vocabulary.mask();
  const char* next = line.data();
  for (std::string_view character : characters(line)) {
    if (character.data() < next) continue;  // inside a mask
    if (!mask.empty() &&
        line.substr(static_cast<std::size_t>(character.data() - line.data())).starts_with(mask)) {
      pieces.emplace_back(mask);
      next = character.data() + mask.size();
    } else if (character == " ") {
      pieces.emplace_back(kSpaceSymbol);
    } else {
      pieces.push_back((character == kSpaceSymbol ? "\\" : "") + std::string(character));
    }
  }
  return pieces;
}

SchemePtr make_char_scheme(Vocabulary vocabulary) {
  return std::make_shared<CharScheme>(std::move(vocabulary));
}

}  // namespace heed::text
