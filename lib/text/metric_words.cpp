#include "text/metric_words.h"

#include <algorithm>
#include <memory>

#include "base/choice.h"
#include "base/digest.h"
#include "text/foreign_json.h"
#include "text/mecab.h"
#include "text/sentencepiece_model.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

bool is_digit(std::string_view c) {
  return c >= "0" && c <= "9";
}
bool is_period_or_comma(std::string_view c) {
  return c == "." || c == ",";
}

/// Punctuation that always stands alone: ASCII but letters, digits and ' , - .
bool stands_alone(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

std::vector<std::string_view> bytes(std::string_view text) {
  std::vector<std::string_view> list;
  for (std::size_t i = 0; i < text.size(); ++i) list.push_back(text.substr(i, 1));
  return list;
}

/// Where to insert a space in a pair of units: before the first, between the two, after the second.
enum class Space { around_first, around_second };

/// Puts spaces into every non-overlapping pair of adjacent units for which `matches` holds, from left to
/// right.
template <class Matches>
std::string space_pairs(const std::vector<std::string_view>& units, Space space, Matches matches) {
  std::string out;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i + 1 < units.size() && matches(units[i], units[i + 1])) {
      if (space == Space::around_first) out += ' ';
      ((out += units[i]) += ' ') += units[i + 1];
      if (space == Space::around_second) out += ' ';
      ++i;
    } else {
      out += units[i];
    }
  }
  return out;
}

/// Puts spaces around each character for which `matches` holds.
template <class Matches>
std::string space_characters(std::string_view line, Matches matches) {
  std::string out;
  for (const std::string_view c : characters(line)) {
    if (matches(code_point(c))) {
      ((out += ' ') += c) += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

template <class Matches>
std::string without_characters(std::string_view line, Matches matches) {
  std::string out;
  for (const std::string_view c : characters(line)) {
    if (!matches(code_point(c))) out += c;
  }
  return out;
}

std::string join_words(std::string_view line) {
  const std::vector<std::string_view> words = split_white_space(line);
  return joined({words.begin(), words.end()}, " ");
}

/// Without white space at either end.
std::string stripped(std::string_view line) {
  const std::vector<std::string_view> words = split_white_space(line);
  if (words.empty()) return "";
  return {words.front().data(), words.back().data() + words.back().size()};
}

std::string without_entities(std::string_view line) {
  std::string text = replace_all(line, "&quot;", "\"");
  text = replace_all(text, "&amp;", "&");
  text = replace_all(text, "&lt;", "<");
  return replace_all(text, "&gt;", ">");
}

std::string split_punctuation(std::string_view line) {
  std::string apart;
  for (const char c : line) {
    if (stands_alone(c)) {
      ((apart += ' ') += c) += ' ';
    } else {
      apart += c;
    }
  }
  return apart;
}

/// Periods and commas stand alone unless between digits, dashes after a digit.
std::string split_around_numbers(std::string_view line) {
  std::string text = space_pairs(
      bytes(line), Space::around_second,
      [](std::string_view a, std::string_view b) { return !is_digit(a) && is_period_or_comma(b); });
  text = space_pairs(bytes(text), Space::around_first, [](std::string_view a, std::string_view b) {
    return is_period_or_comma(a) && !is_digit(b);
  });
  return space_pairs(bytes(text), Space::around_second,
                     [](std::string_view a, std::string_view b) { return is_digit(a) && b == "-"; });
}

struct CharacterRange {
  char32_t first, last;
};

template <std::size_t N>
bool is_in(const CharacterRange (&ranges)[N], char32_t c) {
  return std::ranges::any_of(ranges, [&](const CharacterRange& r) { return c >= r.first && c <= r.last; });
}

// sacreBLEU's ranges, with its two mistakes of five hexadecimal digits: what was meant to be the ideographs
// from U+20000 and U+2F800 are U+2001 to U+2A6D (general punctuation, symbols) and U+2F81 to U+2FA1.
constexpr CharacterRange kChinese[] = {{0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
                                       {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5},
                                       {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
                                       {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};

// tercom's characters that stand alone; the range from U+3200 is sacreBLEU's, whose end was meant to be
// U+32FF.
constexpr CharacterRange kAsian[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x3F22}, {0x3300, 0x33FF},
                                     {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
constexpr CharacterRange kAsianPunctuation[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F},
                                                {0xFF61, 0xFF65}, {0x30FB, 0x30FB}, {0xFF0E, 0xFF0E},
                                                {0xFF0C, 0xFF0C}, {0xFF1F, 0xFF1F}, {0xFF1A, 0xFF1B},
                                                {0xFF01, 0xFF02}, {0xFF08, 0xFF09}};

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text = replace_all(line, "<skipped>", "");
  text = replace_all(text, "-\n", "");
  text = replace_all(text, "\n", " ");
  return join_words(split_around_numbers(split_punctuation(" " + without_entities(text) + " ")));
}

std::string tokenize_zh(std::string_view line) {
  const std::string apart = space_characters(join_words(line), [](char32_t c) { return is_in(kChinese, c); });
  return join_words(split_around_numbers(split_punctuation(apart)));
}

std::string tokenize_intl(std::string_view line) {
  auto is = [](std::string_view c, char wanted) { return category(code_point(c)) == wanted; };
  std::string text =
      space_pairs(characters(line), Space::around_second,
                  [&](std::string_view a, std::string_view b) { return !is(a, 'N') && is(b, 'P'); });
  text = space_pairs(characters(text), Space::around_first,
                     [&](std::string_view a, std::string_view b) { return is(a, 'P') && !is(b, 'N'); });
  return join_words(space_characters(text, [](char32_t c) { return category(c) == 'S'; }));
}

std::string tokenize_tercom(std::string_view line, const TercomRules& rules) {
  std::string text = rules.case_sensitive ? std::string(line) : to_lower(line);
  if (rules.normalized) {
    text = split_punctuation(" " + without_entities(replace_all(text, "\n", " ")) + " ");
    text = split_around_numbers(replace_all(text, "'s ", " 's "));
    if (rules.asian_support)
      text =
          space_characters(text, [](char32_t c) { return is_in(kAsian, c) || is_in(kAsianPunctuation, c); });
  }
  if (rules.no_punctuation) {
    text = without_characters(text, [&](char32_t c) {
      return (c < 0x80 &&
              std::string_view(".,?:;!\"()").find(static_cast<char>(c)) != std::string_view::npos) ||
             (rules.asian_support && is_in(kAsianPunctuation, c));
    });
  }
  return join_words(text);
}

MetricWords::MetricWords(const std::string& tokenization, const std::string& spm_model)
    : name_(tokenization) {
  enum class Way { w13a, intl, zh, japanese, characters, spm, none };
  const Way way = chosen<Way>("tokenize", kBleuTokenizations, tokenization);
  if (way == Way::spm && spm_model.empty()) fail<UsageError>("--tokenize spm: give --spm-model FILE");
  if (way != Way::spm && !spm_model.empty())
    fail<UsageError>("--spm-model is for --tokenize spm, got --tokenize ", tokenization);
  switch (way) {
    case Way::w13a:
      split_ = tokenize_13a;
      break;
    case Way::intl:
      split_ = tokenize_intl;
      break;
    case Way::zh:
      split_ = tokenize_zh;
      break;
    case Way::japanese: {
      const auto mecab = std::make_shared<Mecab>();
      name_ += "-" + mecab->name();
      split_ = [mecab](const std::string& line) { return join_words(mecab->words(stripped(line))); };
      break;
    }
    case Way::characters:
      split_ = [](const std::string& line) {
        const std::vector<std::string_view> list = characters(line);
        return join_words(joined({list.begin(), list.end()}, " "));
      };
      break;
    case Way::spm: {
      const std::string model = read_foreign_file(spm_model);
      name_ += "-" + sha256_hex(model).substr(0, 8);
      split_ = [processor =
                    std::shared_ptr(load_sentencepiece(model, escaped(spm_model)))](const std::string& line) {
        std::vector<std::string> pieces;
        const auto status = processor->Encode(line, &pieces);
        if (!status.ok()) fail("SentencePiece: ", escaped(status.ToString(), 200));
        return join_words(joined(pieces, " "));
      };
      break;
    }
    case Way::none:
      split_ = join_words;
      break;
  }
}

}  // namespace heed::text
