#include "base/error.h"
#include "text/scheme.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

class WordScheme : public Scheme {
 public:
  explicit WordScheme(Vocabulary vocabulary) : Scheme(std::move(vocabulary)) {
    for (const std::string& piece : this->vocabulary().pieces()) {
      if (piece.find_first_of(kBlanks) != std::string::npos) {
        fail("vocabulary: \"", escaped(piece), "\" contains white space, so no word can match it");
      }
    }
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<std::int32_t> ids;
    for (const std::string& piece : word_pieces(line, vocabulary())) ids.push_back(vocabulary().id(piece));
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (std::int32_t id : ids) {
      if (!text.empty()) text += ' ';
      text += unescape_special(vocabulary().piece(id), vocabulary());
    }
    return text;
  }

  bool begins_word(const std::string&, const std::string&) const override { return true; }
};

}  // namespace

std::vector<std::string> word_pieces(const std::string& line, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (std::string_view word : split_any(line, kBlanks)) pieces.push_back(escape_special(word, vocabulary));
  return pieces;
}

SchemePtr make_word_scheme(Vocabulary vocabulary) {
  return std::make_shared<WordScheme>(std::move(vocabulary));
}

}  // namespace heed::text
