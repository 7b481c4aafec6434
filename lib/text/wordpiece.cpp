#include "text/wordpiece.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/unicode.h"

namespace heed::text {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WordPieceOptions, clean, split_chinese, strip_accents, lowercase, prefix,
                                   longest_word, tidy)

namespace {

/// The general category in Unicode 8, by which the library tokenizers still clean text, split at punctuation
/// and strip accents; correct for the categories used here: marks, punctuation, control.
/// scripts/check-tokenizers compares all characters.
utf8proc_category_t category(char32_t c) {
  // Ranges that hold all such characters that Unicode 9 to 15 added, and none that were there before.
  constexpr std::pair<char32_t, char32_t> later[] = {
      {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},     {0xA76, 0xA76},
      {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xC77, 0xC77},     {0xC84, 0xC84},
      {0xD00, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},
      {0x180F, 0x1886},   {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
      {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F89},
      {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
      {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF},
      {0x12FF1, 0x13455}, {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
      {0x1E944, 0x1E95F}};
  switch (c) {  // what was of another kind then
    case 0x1734:
      return UTF8PROC_CATEGORY_MN;
    case 0x166D:
    case 0x111C9:
      return UTF8PROC_CATEGORY_PO;
    default:
      break;
  }
  const auto after = std::ranges::upper_bound(later, c, {}, &std::pair<char32_t, char32_t>::first);
  if (after != std::begin(later) && c <= std::prev(after)->second) return UTF8PROC_CATEGORY_CN;
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// Characters removed by cleaning. Tabs and line ends are white space.
bool is_dropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t kind = category(c);
  return c == 0 || c == 0xFFFD || kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CO;
}

/// The blocks that BERT's multilingual models were trained with; 2B920 is the source's, where Unicode has
/// 2B820.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::ranges::any_of(blocks,
                             [c](const auto& block) { return c >= block.first && c <= block.second; });
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  switch (category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

class WordPieceScheme : public Scheme {
 public:
  WordPieceScheme(Vocabulary vocabulary_, WordPieceOptions options)
      : Scheme(std::move(vocabulary_)), options_(std::move(options)) {
    if (vocabulary().special().unk == SpecialIds::kAbsent) fail("vocabulary: has no piece for unknown text");
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    return encode_with_masks(vocabulary(), line, false, [&](const std::string& text, auto& ids) {
      for (const std::string& word : words(normalised(text))) append(word, ids);
    });
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    bool is_first = true;
    for (std::int32_t id : ids) {
      std::string piece = vocabulary().piece(id);
      if (!is_first)
        piece = piece.starts_with(options_.prefix) ? piece.substr(options_.prefix.size()) : " " + piece;
      text += options_.tidy ? tidied(piece) : piece;
      is_first = false;
    }
    return text;
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    return !piece.starts_with(options_.prefix);
  }

  const SentenceFrame* frame() const override { return &options_.frame; }
  std::vector<AddedToken> special_tokens() const override { return special_pieces(vocabulary()); }

  nlohmann::json settings() const override {
    nlohmann::json settings = options_;
    add_frame(settings, options_.frame);
    return settings;
  }

 private:
  std::string normalised(const std::string& line) const {
    std::string text;
    for (std::string_view character : characters(line)) {
      const char32_t c = code_point(character);
      if (options_.clean && is_dropped(c)) continue;
      if (options_.split_chinese && is_chinese(c)) {
        (text += ' ').append(character) += ' ';
      } else {
        text += options_.clean && is_white_space(c) ? " " : character;
      }
    }
    if (!options_.strip_accents && !options_.lowercase) return text;
    if (options_.strip_accents) text = nfd(text);
    std::string out;
    for (std::string_view character : characters(text)) {
      const char32_t c = code_point(character);
      if (options_.strip_accents && category(c) == UTF8PROC_CATEGORY_MN) continue;
      if (!options_.lowercase) {
        out += character;
      } else if (c == 0x130) {
        out += "i\u0307";
      } else {
        append_utf8(out, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
      }
    }
    return out;
  }

  static std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> list;
    bool continues = false;
    for (std::string_view character : characters(text)) {
      const char32_t c = code_point(character);
      const bool stands_alone = is_punctuation(c);
      if (is_white_space(c)) {
        continues = false;
        continue;
      }
      if (!continues || stands_alone) list.emplace_back();
      list.back() += character;
      continues = !stands_alone;
    }
    return list;
  }

  void append(const std::string& word, std::vector<std::int32_t>& ids) const {
    std::vector<std::size_t> ends;  // of its characters
    for (std::string_view character : characters(word))
      ends.push_back(static_cast<std::size_t>(character.data() - word.data()) + character.size());
    const std::size_t first = ids.size();
    for (std::size_t begin = 0, at = 0; at < ends.size();) {
      std::size_t next = ends.size();
      std::string piece;
      if (std::cmp_less_equal(ends.size(), options_.longest_word)) {
        for (; next > at; --next) {
          piece = (begin == 0 ? "" : options_.prefix) + word.substr(begin, ends[next - 1] - begin);
          if (vocabulary().contains(piece) && !vocabulary().is_special(piece)) break;
        }
      } else {
        next = at;
      }
      if (next == at) {
        ids.resize(first);
        ids.push_back(vocabulary().special().unk);
        return;
      }
      ids.push_back(vocabulary().id(piece));
      at = next;
      begin = ends[next - 1];
    }
  }

  /// As in the library, piece by piece.
  static std::string tidied(std::string piece) {
    constexpr std::pair<const char*, const char*> rules[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : rules) piece = replace_all(piece, from, to);
    return piece;
  }

  WordPieceOptions options_;
};

}  // namespace

SchemePtr make_wordpiece_scheme(Vocabulary vocabulary, WordPieceOptions options) {
  return std::make_shared<WordPieceScheme>(std::move(vocabulary), std::move(options));
}

SchemePtr make_wordpiece_scheme(Vocabulary vocabulary, const nlohmann::json& settings,
                                const std::string& name) {
  auto options = settings.get<WordPieceOptions>();
  if (options.longest_word < 0 || options.longest_word > kLongestWord)
    fail(name, "/config: longest_word: wanted 0 to ", kLongestWord, ", got ", options.longest_word);
  options.frame = frame_of_settings(settings, vocabulary, name + "/config");
  return make_wordpiece_scheme(std::move(vocabulary), std::move(options));
}

}  // namespace heed::text
