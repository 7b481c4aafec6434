#include "text/scheme.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";
constexpr std::string_view kJoiner = "@@";

std::string_view without_backslashes(std::string_view piece) {
  return piece.substr(std::min(piece.find_first_not_of('\\'), piece.size()));
}

class WordScheme : public Scheme {
 public:
  WordScheme(Vocabulary vocabulary_, std::optional<SentenceFrame> frame)
      : Scheme(std::move(vocabulary_)), frame_(std::move(frame)) {
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
  const SentenceFrame* frame() const override { return frame_ ? &*frame_ : nullptr; }
  nlohmann::json settings() const override {
    nlohmann::json settings;
    if (frame_) add_frame(settings, *frame_);
    return settings;
  }

 private:
  std::optional<SentenceFrame> frame_;
};

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

/// Whether `piece` reads "...@@" followed by any number of backslashes.
bool needs_end_escape(std::string_view piece) {
  std::size_t last = piece.find_last_not_of('\\');
  return last != std::string_view::npos && piece.substr(0, last + 1).ends_with(kJoiner);
}

std::string piece_of(const std::string& segment, bool final, const Vocabulary& vocabulary) {
  if (!final) return segment + std::string(kJoiner);
  return needs_end_escape(segment) ? segment + '\\' : escape_special(segment, vocabulary);
}

std::string text_of_final(const std::string& piece, const Vocabulary& vocabulary) {
  if (piece.ends_with('\\') && needs_end_escape(piece)) return piece.substr(0, piece.size() - 1);
  return unescape_special(piece, vocabulary);
}

class SubwordScheme : public Scheme {
 public:
  SubwordScheme(Vocabulary vocabulary, BpeCodes codes)
      : Scheme(std::move(vocabulary)), codes_(std::move(codes)) {
    for (const std::string& piece : this->vocabulary().pieces()) {
      if (piece.find(' ') != std::string::npos) {
        fail("vocabulary: \"", escaped(piece), "\" contains a space, so no segment of a word can match it");
      }
    }
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    return encode_words(line, [&](std::string_view word, std::vector<std::int32_t>& ids) {
      push(codes_.segment(word), ids);
    });
  }

  std::vector<std::int32_t> draw(const std::string& line, PieceDraw& how) const override {
    if (how.bpe_dropout == 0)
      fail<UsageError>("--unigram-alpha: the vocabulary is of type bpe; give --bpe-dropout");
    return encode_words(line, [&](std::string_view word, std::vector<std::int32_t>& ids) {
      const auto before = static_cast<std::ptrdiff_t>(ids.size());
      push(codes_.segment(word, how.bpe_dropout, how.random), ids);
      // A vocabulary of the segments of a text may lack even characters that the usual merges never leave
      // alone.
      if (std::find(ids.begin() + before, ids.end(), vocabulary().special().unk) == ids.end()) return;
      ids.resize(static_cast<std::size_t>(before));
      push(codes_.segment(word), ids);
    });
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    bool inside_word = true;  // no space before the first word
    for (std::int32_t id : ids) {
      const std::string& piece = vocabulary().piece(id);
      if (!inside_word) text += ' ';
      inside_word = piece.ends_with(kJoiner);
      text +=
          inside_word ? piece.substr(0, piece.size() - kJoiner.size()) : text_of_final(piece, vocabulary());
    }
    return text;
  }

  bool begins_word(const std::string& before, const std::string&) const override {
    return !before.ends_with(kJoiner);
  }

  std::vector<std::string> merges() const override { return codes_.lines(); }

 private:
  template <class Push>
  std::vector<std::int32_t> encode_words(const std::string& line, const Push& push_word) const {
    std::vector<std::int32_t> ids;
    for (std::string_view word : split_any(line, " ")) {
      if (word == vocabulary().mask()) {
        ids.push_back(vocabulary().special().mask);
        continue;
      }
      push_word(word, ids);
    }
    return ids;
  }

  void push(const std::vector<std::string>& segments, std::vector<std::int32_t>& ids) const {
    for (std::size_t i = 0; i < segments.size(); ++i) push(segments[i], i + 1 == segments.size(), ids);
  }

  /// Appends the id of a segment; one that is not in the vocabulary is split, undoing merge after merge.
  void push(const std::string& segment, bool final, std::vector<std::int32_t>& ids) const {
    const std::string piece = piece_of(segment, final, vocabulary());
    if (!vocabulary().contains(piece)) {
      auto [left, right] = codes_.split(segment, final);
      if (!left.empty() && !right.empty()) {
        push(left, false, ids);
        push(right, final, ids);
        return;
      }
    }
    ids.push_back(vocabulary().id(piece));
  }

  BpeCodes codes_;
};

}  // namespace

std::vector<AddedToken> Scheme::special_tokens() const {
  return {};
}

std::vector<std::int32_t> Scheme::encode_part(const std::string& part, bool) const {
  return encode(part);
}

nlohmann::json Scheme::settings() const {
  return nullptr;
}

std::vector<std::int32_t> Scheme::draw(const std::string&, PieceDraw&) const {
  fail<UsageError>(
      "--bpe-dropout, --unigram-alpha: the vocabulary has only one segmentation of a text; tokenize --train "
      "--type bpe or unigram makes one with several");
}

void check_frame(const SentenceFrame& frame, const Vocabulary& vocabulary, const std::string& where) {
  for (const auto* ids : {&frame.before, &frame.after, &frame.between}) {
    if (ids->size() > kMostFrameIds)
      fail(where, ": ", ids->size(), " ids on one side of a sentence, wanted at most ", kMostFrameIds);
    for (const std::int32_t id : *ids)
      if (id < 0 || id >= vocabulary.size())
        fail(where, ": id ", id, " around sentences, wanted one below ", vocabulary.size(),
             ", the size of the vocabulary");
  }
}

void add_frame(nlohmann::json& settings, const SentenceFrame& frame) {
  settings["before"] = frame.before;
  settings["after"] = frame.after;
  if (frame.between.empty()) return;
  settings["between"] = frame.between;
  settings["second_type"] = frame.second_type;
}

SentenceFrame frame_of_settings(const nlohmann::json& settings, const Vocabulary& vocabulary,
                                const std::string& where) {
  const auto ids_of = [&](const char* name) {
    if (!settings.is_object() || !settings.contains(name)) fail(where, ": settings: ", name, " is missing");
    std::vector<std::int32_t> ids;
    for (const nlohmann::json& id : settings.at(name)) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() > INT32_MAX)
        fail(where, ": ", name, ": wanted ids, got ", escaped(id.dump(), 100));
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  };
  SentenceFrame frame{ids_of("before"), ids_of("after")};
  if (settings.contains("between")) {
    frame.between = ids_of("between");
    frame.second_type = settings.value("second_type", nlohmann::json()) == 1 ? 1 : 0;
  }
  check_frame(frame, vocabulary, where);
  return frame;
}

std::string escape_special(std::string_view piece, const Vocabulary& vocabulary) {
  return (vocabulary.is_special(without_backslashes(piece)) && piece != vocabulary.mask() ? "\\" : "") +
         std::string(piece);
}

std::string unescape_special(std::string_view piece, const Vocabulary& vocabulary) {
  const std::string_view bare = without_backslashes(piece);
  if (piece.size() > bare.size() && vocabulary.is_special(bare)) piece.remove_prefix(1);
  return std::string(piece);
}

std::vector<std::string> word_pieces(const std::string& line, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (std::string_view word : split_any(line, kBlanks)) pieces.push_back(escape_special(word, vocabulary));
  return pieces;
}

std::vector<std::int32_t> encode_with_masks(
    const Vocabulary& vocabulary, std::string_view line, bool strips,
    const std::function<void(const std::string& text, std::vector<std::int32_t>& ids)>& encode) {
  const std::string_view mask = vocabulary.mask();
  std::vector<std::int32_t> ids;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t found = mask.empty() ? std::string_view::npos : line.find(mask, begin);
    std::string_view text = line.substr(begin, found == std::string_view::npos ? found : found - begin);
    if (found != std::string_view::npos && strips) text = without_white_space_at_end(text);
    if (!text.empty()) encode(std::string(text), ids);
    if (found == std::string_view::npos) break;
    ids.push_back(vocabulary.special().mask);
    begin = found + mask.size();
  }
  return ids;
}

SchemePtr make_word_scheme(Vocabulary vocabulary, std::optional<SentenceFrame> frame) {
  return std::make_shared<WordScheme>(std::move(vocabulary), std::move(frame));
}

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

std::vector<std::string> subword_pieces(const BpeCodes& codes, std::string_view word,
                                        const Vocabulary& vocabulary) {
  std::vector<std::string> pieces = codes.segment(word);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    pieces[i] = piece_of(pieces[i], i + 1 == pieces.size(), vocabulary);
  return pieces;
}

SchemePtr make_subword_scheme(Vocabulary vocabulary, BpeCodes codes) {
  return std::make_shared<SubwordScheme>(std::move(vocabulary), std::move(codes));
}

}  // namespace heed::text
