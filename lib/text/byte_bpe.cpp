#include "text/byte_bpe.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/choice.h"
#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

// ---- splitting ----

enum class Class : std::uint8_t { letter, number, space, other };

Class class_of(char32_t c) {
  if (is_white_space(c)) return Class::space;
  switch (category(c)) {
    case 'L':
      return Class::letter;
    case 'N':
      return Class::number;
    default:
      return Class::other;
  }
}

/// Tries a pattern's alternatives in order at one place after the other. An end is past the matching
/// characters, or equal to the start if none match.
class Scanner {
 public:
  Scanner(std::string_view text, SplitPattern pattern) : pattern_(pattern) {
    for (std::string_view character : characters(text)) {
      code_.push_back(code_point(character));
      class_.push_back(class_of(code_.back()));
      begin_.push_back(static_cast<std::size_t>(character.data() - text.data()));
    }
    begin_.push_back(text.size());
  }

  std::vector<std::string_view> words(std::string_view text) const {
    std::vector<std::string_view> list;
    for (std::size_t at = 0, end = 0; at < size(); at = end) {
      end = pattern_ == SplitPattern::none   ? size()
            : pattern_ == SplitPattern::gpt2 ? gpt2_word(at)
                                             : llama_word(at);
      list.push_back(text.substr(begin_[at], begin_[end] - begin_[at]));
    }
    return list;
  }

 private:
  std::size_t size() const { return code_.size(); }
  bool is(std::size_t at, Class wanted) const { return at < size() && class_[at] == wanted; }
  bool is_line_end(std::size_t at) const { return at < size() && (code_[at] == '\r' || code_[at] == '\n'); }

  std::size_t run(std::size_t at, Class of, std::size_t most = SIZE_MAX) const {
    const std::size_t start = at;
    while (is(at, of) && at - start < most) ++at;
    return at;
  }
  /// ' ?[class]+'
  std::size_t run_after_space(std::size_t at, Class of) const {
    const std::size_t start = at < size() && code_[at] == ' ' ? at + 1 : at;
    const std::size_t end = run(start, of);
    return end == start ? at : end;
  }
  /// A letter without its case; the long s is an s.
  char32_t folded(std::size_t at, bool any_case) const {
    if (at >= size()) return 0;
    const char32_t c = code_[at];
    if (any_case && c == 0x17F) return 's';
    return any_case && c >= 'A' && c <= 'Z' ? c + 32 : c;
  }
  /// 's 't 're 've 'm 'll 'd
  std::size_t contraction(std::size_t at, bool any_case) const {
    if (code_[at] != '\'') return at;
    const char32_t first = folded(at + 1, any_case), second = folded(at + 2, any_case);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    const bool is_pair =
        (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return is_pair ? at + 3 : at;
  }
  /// '\s+(?!\S)|\s+': a run leaves its last character to the word after it, unless it has only one.
  std::size_t white_space(std::size_t at) const {
    const std::size_t end = run(at, Class::space);
    return end < size() && end - at > 1 ? end - 1 : end;
  }

  // "'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
  std::size_t gpt2_word(std::size_t at) const {
    if (const std::size_t end = contraction(at, false); end > at) return end;
    for (Class of : {Class::letter, Class::number, Class::other})
      if (const std::size_t end = run_after_space(at, of); end > at) return end;
    return white_space(at);
  }

  // "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" followed by
  // "\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+", with \p{N} for \p{N}{1,3} in Qwen2.
  std::size_t llama_word(std::size_t at) const {
    if (const std::size_t end = contraction(at, true); end > at) return end;
    const bool leads = !is_line_end(at) && (is(at, Class::space) || is(at, Class::other));
    const std::size_t letters = leads ? at + 1 : at;
    if (const std::size_t end = run(letters, Class::letter); end > letters) return end;
    if (const std::size_t end = run(at, Class::number, pattern_ == SplitPattern::llama3 ? 3 : 1); end > at)
      return end;
    if (std::size_t end = run_after_space(at, Class::other); end > at) {
      while (is_line_end(end)) ++end;
      return end;
    }
    // '\s*[\r\n]+' ends with the last line end of the run.
    for (std::size_t end = run(at, Class::space); end > at; --end)
      if (is_line_end(end - 1)) return end;
    return white_space(at);
  }

  SplitPattern pattern_;
  std::vector<char32_t> code_;
  std::vector<Class> class_;
  std::vector<std::size_t> begin_;  ///< of each character, and the end of the text
};

// ---- bytes as characters ----

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<char32_t, 256> kCharacterOfByte = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) table[byte] = stands_for_itself(byte) ? byte : next++;
  return table;
}();

std::string spelled(std::string_view bytes) {
  std::string text;
  for (char byte : bytes) append_utf8(text, kCharacterOfByte[static_cast<unsigned char>(byte)]);
  return text;
}

/// The bytes that a piece spells; a piece with other characters, which only an added token can have, is its
/// own text.
std::string bytes_of(const std::string& piece) {
  std::string bytes;
  for (std::string_view character : characters(piece)) {
    const auto found = std::ranges::find(kCharacterOfByte, code_point(character));
    if (found == kCharacterOfByte.end()) return piece;
    bytes += static_cast<char>(found - kCharacterOfByte.begin());
  }
  return bytes;
}

// ---- the scheme ----

class ByteBpeScheme : public Scheme {
 public:
  ByteBpeScheme(Vocabulary vocabulary_, std::vector<Merge> merges, ByteBpeOptions options)
      : Scheme(std::move(vocabulary_)), options_(std::move(options)), merges_(std::move(merges)) {
    const std::string kind = "byte-level BPE";
    for (unsigned byte = 0; byte < 256; ++byte)
      id_of_byte_[byte] =
          needed_piece(vocabulary(), spelled(std::string(1, static_cast<char>(byte))), "the byte", kind);
    rules_ = {merges_, vocabulary(), kind};
    for (const std::string& piece : vocabulary().pieces())
      bytes_.push_back(vocabulary().is_special(piece) ? piece : bytes_of(piece));
    // The white space before a mask is not that of a token such as "   ".
    std::vector<AddedToken> list = options_.added.list();
    const std::int32_t mask = vocabulary().special().mask;
    if (!list.empty() && mask != SpecialIds::kAbsent &&
        std::ranges::find(list, mask, &AddedToken::id) == list.end())
      list.push_back({.id = mask, .lstrip = options_.mask_strips});
    cut_ = {std::move(list), vocabulary(), kind};
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    return encode_with_masks(
        vocabulary(), line, options_.mask_strips, [&](const std::string& part, auto& ids) {
          const std::string text = (options_.prefix_space && part[0] != ' ' ? " " : "") + part;
          for (const std::string_view word : words(text)) {
            if (append_whole(word, ids)) continue;
            const std::size_t first = ids.size();
            for (const char byte : word) ids.push_back(id_of_byte_[static_cast<unsigned char>(byte)]);
            rules_.apply(ids, first);
          }
        });
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string bytes;
    for (std::int32_t id : ids) {
      vocabulary().piece(id);  // refuses ids that are out of range
      bytes += bytes_[static_cast<std::size_t>(id)];
    }
    return replace_invalid_utf8(bytes);
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    const std::string bytes = bytes_of(piece);
    return !bytes.empty() && (bytes[0] == ' ' || (bytes[0] >= '\t' && bytes[0] <= '\r'));
  }

  const SentenceFrame* frame() const override { return &options_.frame; }
  const AddedTokens* added() const override { return cut_.empty() ? nullptr : &cut_; }

  std::vector<AddedToken> special_tokens() const override {
    std::vector<AddedToken> list = options_.added.list();
    std::set<std::int32_t> others;
    for (const AddedToken& each : list) others.insert(each.id);
    for (const std::int32_t id : pieces_without_merge(vocabulary(), merges()))
      if (!others.contains(id) && !is_whole_word(id))
        list.push_back({.id = id, .lstrip = options_.mask_strips && id == vocabulary().special().mask});
    return list;
  }

  std::vector<std::string> merges() const override {
    std::vector<std::string> lines;
    for (const auto& [left, right] : merges_) lines.push_back(left + ' ' + right);
    return lines;
  }

  nlohmann::json settings() const override {
    nlohmann::json settings{{"pattern", kSplitPatterns[static_cast<std::size_t>(options_.pattern)]},
                            {"prefix_space", options_.prefix_space},
                            {"ignore_merges", options_.ignore_merges}};
    if (options_.mask_strips) settings["mask_strips"] = true;
    if (options_.digits != DigitSplit::none) {
      settings["digits"] = kDigitSplits[static_cast<std::size_t>(options_.digits)];
      settings["digits_last"] = options_.digits_last;
    }
    add_frame(settings, options_.frame);
    options_.added.add_to(settings);
    return settings;
  }

 private:
  /// Whether the piece occurs in text although no merge makes it.
  bool is_whole_word(std::int32_t id) const {
    return options_.ignore_merges && !vocabulary().special().contains(id) &&
           words(bytes_[static_cast<std::size_t>(id)]).size() == 1;
  }

  bool append_whole(std::string_view word, std::vector<std::int32_t>& ids) const {
    if (!options_.ignore_merges) return false;
    const std::string piece = spelled(word);
    if (!vocabulary().contains(piece) || vocabulary().is_special(piece)) return false;
    ids.push_back(vocabulary().id(piece));
    return true;
  }

  /// The parts of a text that are merged one by one.
  std::vector<std::string_view> words(std::string_view text) const {
    return split_in_turn(text, options_.pattern, options_.digits, options_.digits_last);
  }

  ByteBpeOptions options_;
  std::vector<Merge> merges_;
  std::array<std::int32_t, 256> id_of_byte_{};
  MergeRules rules_;
  std::vector<std::string> bytes_;  ///< by id
  AddedTokens cut_;                 ///< the options' and, beside those, the mask
};

}  // namespace

std::string expression_of(SplitPattern pattern) {
  constexpr std::string_view start = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  constexpr std::string_view end = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (pattern == SplitPattern::llama3) return concat(start, R"(\p{N}{1,3})", end);
  if (pattern == SplitPattern::qwen2) return concat(start, R"(\p{N})", end);
  return R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
}

SplitPattern pattern_of_expression(const std::string& expression) {
  for (const SplitPattern each : {SplitPattern::gpt2, SplitPattern::llama3, SplitPattern::qwen2})
    if (expression == expression_of(each)) return each;
  if (expression == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)")
    return SplitPattern::gpt2;
  fail("unknown pattern ", escaped(expression, 200), ", wanted that of GPT-2, Llama 3 or Qwen2");
}

std::vector<std::string_view> split_words(std::string_view text, SplitPattern pattern) {
  return Scanner(text, pattern).words(text);
}

std::vector<std::string_view> split_digits(std::string_view text, DigitSplit how) {
  std::vector<std::string_view> parts;
  bool was_digit = false;
  std::size_t at = 0;
  for (const std::string_view character : characters(text)) {
    const bool is_digit = category(code_point(character)) == 'N';
    const bool cuts =
        how != DigitSplit::none && (is_digit != was_digit || (is_digit && how == DigitSplit::each));
    if (parts.empty() || cuts) parts.push_back(text.substr(at, 0));
    parts.back() = {parts.back().data(), parts.back().size() + character.size()};
    at += character.size();
    was_digit = is_digit;
  }
  return parts;
}

std::vector<std::string_view> split_in_turn(std::string_view text, SplitPattern pattern, DigitSplit digits,
                                            bool digits_last) {
  if (digits == DigitSplit::none) return split_words(text, pattern);
  std::vector<std::string_view> all;
  for (const std::string_view part : digits_last ? split_words(text, pattern) : split_digits(text, digits)) {
    const auto more = digits_last ? split_digits(part, digits) : split_words(part, pattern);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::set<std::int32_t> pieces_without_merge(const Vocabulary& vocabulary,
                                            const std::vector<std::string>& merges) {
  std::set<std::string> made;
  for (std::string merge : merges) {
    merge.erase(merge.find(' '), 1);
    made.insert(merge);
  }
  std::set<std::int32_t> ids;
  for (const AddedToken& each : special_pieces(vocabulary)) ids.insert(each.id);
  const auto used = std::min<std::int64_t>(vocabulary.size(), vocabulary.special().first_unused);
  for (std::int32_t id = 0; id < used; ++id) {
    const std::string& piece = vocabulary.piece(id);
    const bool is_byte = piece.size() == 1 || (piece.size() == 2 && (piece[0] & 0xE0) == 0xC0);
    if (!is_byte && !made.contains(piece)) ids.insert(id);
  }
  return ids;
}

SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, std::vector<Merge> merges, ByteBpeOptions options) {
  return std::make_shared<ByteBpeScheme>(std::move(vocabulary), std::move(merges), std::move(options));
}

SchemePtr make_byte_bpe_scheme(Vocabulary vocabulary, const std::vector<std::string>& merges,
                               const nlohmann::json& settings, const std::string& name) {
  ByteBpeOptions options;
  options.pattern = chosen<SplitPattern>("pattern", kSplitPatterns, settings.at("pattern"));
  settings.at("prefix_space").get_to(options.prefix_space);
  settings.at("ignore_merges").get_to(options.ignore_merges);
  options.mask_strips = settings.value("mask_strips", false);
  if (settings.contains("digits")) {
    options.digits = chosen<DigitSplit>("digits", kDigitSplits, settings.at("digits"));
    settings.at("digits_last").get_to(options.digits_last);
  }
  options.frame = frame_of_settings(settings, vocabulary, name + "/config");
  options.added = AddedTokens::of_settings(settings, vocabulary, name + "/config");
  std::vector<Merge> pairs;
  for (const std::string& line : merges) pairs.push_back(parse_merge(line, name));
  return make_byte_bpe_scheme(std::move(vocabulary), std::move(pairs), std::move(options));
}

Merge parse_merge(const std::string& line, const std::string& name) {
  const std::size_t space = line.find(' ');
  if (space == 0 || space == std::string::npos || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string::npos)
    fail(name, ": \"", escaped(line), "\" is not a merge, wanted two pieces separated by a space");
  return {line.substr(0, space), line.substr(space + 1)};
}

}  // namespace heed::text
