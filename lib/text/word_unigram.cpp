#include "text/word_unigram.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/sentencepiece_model.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

constexpr char kModelName[] = "Unigram model";
/// Longer graphemes are not normalised as a unit.
constexpr std::size_t kGraphemeBytes = 6;
/// The log-probability of an unknown character relative to the least likely piece.
constexpr double kUnknownWordPenalty = 10;

class WordUnigramScheme final : public Scheme {
 public:
  WordUnigramScheme(Vocabulary vocabulary, std::string model, SentenceFrame frame)
      : Scheme(std::move(vocabulary)), frame_(std::move(frame)), model_(std::move(model)) {
    const auto processor = load_sentencepiece(model_, kModelName);  // checks the table, too
    normalisations_ = Normalisations(normalisation_table(model_));
    double least = 0;
    for (int id = 0; id < processor->GetPieceSize(); ++id) {
      const std::string& piece = processor->IdToPiece(id);
      if (id >= this->vocabulary().size() || this->vocabulary().piece(id) != piece)
        fail(kModelName, ": its piece ", id, " is not that of the vocabulary");
      if (processor->IsControl(id) || processor->IsUnknown(id)) continue;
      const double score = processor->GetScore(id);
      pieces_.push_back({piece, id, score});
      least = std::min(least, score);
    }
    std::ranges::sort(pieces_, {}, &Piece::text);
    unknown_ = {"", processor->unk_id(), least - kUnknownWordPenalty};
    if (unknown_.id != this->vocabulary().special().unk)
      fail(kModelName, ": unknown text has the piece ", unknown_.id, ", in the vocabulary ",
           this->vocabulary().special().unk);
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<std::int32_t> ids;
    std::string word;
    const std::string text = normalised(line);
    for (const std::string_view character : characters(text)) {
      const bool ends = is_white_space(code_point(character));
      if (ends || character == kSpaceSymbol) encode_part(std::exchange(word, {}), ids);
      if (ends) continue;
      if (word.empty()) word = kSpaceSymbol;
      if (character != kSpaceSymbol) word += character;
    }
    encode_part(word, ids);
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i)
      text += replace_all(vocabulary().piece(ids[i]), kSpaceSymbol, i == 0 ? "" : " ");
    return text;
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    return piece.starts_with(kSpaceSymbol);
  }

  const SentenceFrame* frame() const override { return &frame_; }
  std::string_view sentencepiece() const override { return model_; }
  Json settings() const override {
    Json json;
    add_frame(json, frame_);
    return json;
  }

 private:
  std::string normalised(const std::string& line) const {
    std::string text;
    for (const std::string_view grapheme : graphemes(line)) {
      if (grapheme.size() < kGraphemeBytes)
        if (const auto found = normalisations_.find(grapheme)) {
          text += *found;
          continue;
        }
      for (const std::string_view character : characters(grapheme))
        text += normalisations_.find(character).value_or(character);
    }
    return replace_invalid_utf8(text);  // of a table that cuts characters
  }

  struct Piece {
    std::string text;
    std::int32_t id = 0;
    double score = 0;
  };

  /// The path with the greatest sum of scores; of equal ones that whose last piece begins first. Characters
  /// without a piece are unknown, adjacent ones as one.
  void encode_part(std::string_view part, std::vector<std::int32_t>& ids) const {
    struct Node {
      double total = 0;
      std::size_t before = std::string::npos;  ///< where the last piece begins; npos: nothing ends here
      std::int32_t id = 0;
    };
    std::vector<Node> ways(part.size() + 1);
    const auto reach = [&](std::size_t from, std::size_t to, const Piece& piece) {
      const double total = ways[from].total + piece.score;
      if (ways[to].before == std::string::npos || total > ways[to].total) ways[to] = {total, from, piece.id};
    };
    std::size_t from = 0;
    for (const std::string_view character : characters(part)) {
      bool is_piece = false;
      auto first = pieces_.begin(), last = pieces_.end();  // those that begin as the text does here
      for (std::size_t at = from; at < part.size(); ++at) {
        const std::size_t depth = at - from;
        const auto byte = static_cast<unsigned char>(part[at]);
        first = std::lower_bound(first, last, byte, [&](const Piece& piece, unsigned char wanted) {
          return piece.text.size() <= depth || static_cast<unsigned char>(piece.text[depth]) < wanted;
        });
        last = std::upper_bound(first, last, byte, [&](unsigned char wanted, const Piece& piece) {
          return wanted < static_cast<unsigned char>(piece.text[depth]);
        });
        if (first == last) break;
        if (first->text.size() > depth + 1) continue;
        reach(from, at + 1, *first);
        is_piece = is_piece || depth + 1 == character.size();
      }
      if (!is_piece) reach(from, from + character.size(), unknown_);
      from += character.size();
    }
    const std::size_t first = ids.size();
    for (std::size_t at = part.size(); at > 0; at = ways[at].before)
      if (ways[at].id != unknown_.id || ids.size() == first || ids.back() != unknown_.id)
        ids.push_back(ways[at].id);
    std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  }

  SentenceFrame frame_;
  std::string model_;
  Normalisations normalisations_{std::string_view()};
  std::vector<Piece> pieces_;  ///< that text can be cut into, sorted
  Piece unknown_;
};

}  // namespace

SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, SentenceFrame frame) {
  return std::make_shared<WordUnigramScheme>(std::move(vocabulary), std::move(model), std::move(frame));
}

SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, const Json& settings,
                                   const std::string& name) {
  SentenceFrame frame = frame_of_settings(settings, vocabulary, name + "/config");
  return make_word_unigram_scheme(std::move(vocabulary), std::move(model), std::move(frame));
}

}  // namespace heed::text
