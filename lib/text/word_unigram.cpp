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
constexpr char kRunOfSpaces[] = "run_of_spaces";
constexpr std::pair<const char*, bool WordUnigramOptions::*> kFlags[] = {
    {"only_spaces_split", &WordUnigramOptions::only_spaces_split},
    {"strips_end", &WordUnigramOptions::strips_end},
    {"mask_strips", &WordUnigramOptions::mask_strips}};
/// Longer graphemes are not normalised as a unit.
constexpr std::size_t kGraphemeBytes = 6;
/// The log-probability of an unknown character relative to the least likely piece.
constexpr double kUnknownWordPenalty = 10;

/// `text` with runs of spaces replaced; an empty replacement leaves them.
std::string with_runs_replaced(std::string_view text, const std::string& replacement) {
  if (replacement.empty()) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
    out += spaces > 1 ? replacement : std::string(1, text[at]);
    at += std::max<std::size_t>(spaces, 1);
  }
  return out;
}

class WordUnigramScheme final : public Scheme {
 public:
  WordUnigramScheme(Vocabulary vocabulary, std::string model, WordUnigramOptions options)
      : Scheme(std::move(vocabulary)), options_(std::move(options)), model_(std::move(model)) {
    const auto processor = load_sentencepiece(model_, kModelName);  // checks the table, too
    normalisations_ = Normalisations(normalisation_table(model_));
    double least = 0;
    for (int id = 0; id < processor->GetPieceSize(); ++id) {
      const std::string& piece = processor->IdToPiece(id);
      if (id >= this->vocabulary().size() || this->vocabulary().piece(id) != piece)
        fail(kModelName, ": its piece ", id, " is not that of the vocabulary");
      const double score = processor->GetScore(id);
      least = std::min(least, score);
      if (!processor->IsControl(id) && !processor->IsUnknown(id)) pieces_.push_back({piece, id, score});
    }
    std::ranges::sort(pieces_, {}, &Piece::text);
    unknown_ = {"", processor->unk_id(), least - kUnknownWordPenalty};
    if (unknown_.id != this->vocabulary().special().unk)
      fail(kModelName, ": unknown text has the piece ", unknown_.id, ", in the vocabulary ",
           this->vocabulary().special().unk);
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    return encode_with_masks(vocabulary(), line, options_.mask_strips,
                             [&](const std::string& text, auto& ids) { encode_text(normalised(text), ids); });
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

  const SentenceFrame* frame() const override { return &options_.frame; }
  std::string_view sentencepiece() const override { return model_; }
  Json settings() const override {
    Json json;
    add_frame(json, options_.frame);
    // Left out where they are T5's, whose files and digests are older.
    for (const auto& [name, flag] : kFlags)
      if (options_.*flag) json[name] = true;
    if (!options_.run_of_spaces.empty()) json[kRunOfSpaces] = options_.run_of_spaces;
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
    text = replace_invalid_utf8(text);  // of a table that cuts characters
    return with_runs_replaced(options_.strips_end ? without_white_space_at_end(text) : text,
                              options_.run_of_spaces);
  }

  void encode_text(const std::string& text, std::vector<std::int32_t>& ids) const {
    std::string word;
    for (const std::string_view character : characters(text)) {
      const bool ends = !options_.only_spaces_split && is_white_space(code_point(character)),
                 begins = character == kSpaceSymbol || (!ends && character == " ");
      if (ends || begins) encode_part(std::exchange(word, {}), ids);
      if (ends) continue;
      if (word.empty()) word = kSpaceSymbol;
      if (!begins) word += character;
    }
    encode_part(word, ids);
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

  WordUnigramOptions options_;
  std::string model_;
  Normalisations normalisations_{std::string_view()};
  std::vector<Piece> pieces_;  ///< that text can be cut into, sorted
  Piece unknown_;
};

}  // namespace

SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, WordUnigramOptions options) {
  return std::make_shared<WordUnigramScheme>(std::move(vocabulary), std::move(model), std::move(options));
}

SchemePtr make_word_unigram_scheme(Vocabulary vocabulary, std::string model, const Json& settings,
                                   const std::string& name) {
  WordUnigramOptions options;
  options.frame = frame_of_settings(settings, vocabulary, name + "/config");
  for (const auto& [field, flag] : kFlags) options.*flag = settings.value(field, false);
  options.run_of_spaces = settings.value(kRunOfSpaces, "");
  if (const std::string& run = options.run_of_spaces; !run.empty() && run != " " && run != kSpaceSymbol)
    fail(name, "/config: ", kRunOfSpaces, ": wanted a space or U+2581, got \"", escaped(run, 100), '"');
  return make_word_unigram_scheme(std::move(vocabulary), std::move(model), std::move(options));
}

}  // namespace heed::text
