#include "text/character_bpe.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/merge_rules.h"
#include "text/sentencepiece_model.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

constexpr char kKind[] = "BPE of characters";
/// In settings, by their names.
constexpr std::pair<const char*, bool CharacterBpeOptions::*> kFlags[] = {
    {"prepends", &CharacterBpeOptions::prepends},
    {"replaces_spaces", &CharacterBpeOptions::replaces_spaces},
    {"splits", &CharacterBpeOptions::splits},
    {"bytes", &CharacterBpeOptions::bytes},
    {"fuses_unk", &CharacterBpeOptions::fuses_unk},
    {"states_unk", &CharacterBpeOptions::states_unk}};

/// Of valid UTF-8; longer text is not looked at.
bool is_character(std::string_view text) {
  return !text.empty() && text.size() <= 4 && characters(text).size() == 1;
}

class CharacterBpeScheme final : public Scheme {
 public:
  CharacterBpeScheme(Vocabulary vocabulary_, std::vector<Merge> merges, CharacterBpeOptions options)
      : Scheme(std::move(vocabulary_)),
        options_(std::move(options)),
        merges_(std::move(merges)),
        rules_(merges_, vocabulary(), kKind) {
    for (std::int32_t id = 0; id < vocabulary().size(); ++id) {
      const std::string& piece = vocabulary().piece(id);
      texts_.push_back(options_.line_ends.contains(id) ? with_line_ends(piece) : piece);
      if (is_character(texts_.back())) characters_.emplace(texts_.back(), id);
    }
    for (unsigned byte = 0; options_.bytes && byte < byte_ids_.size(); ++byte)
      if (const std::string piece = byte_piece(static_cast<char>(byte)); vocabulary().contains(piece))
        byte_ids_[byte] = vocabulary().id(piece);
    check_special();
    // As text spells such a token: with the space that its normalised form begins with.
    for (const std::vector<AddedToken>& list : {options_.added.list(), options_.special})
      for (const AddedToken& each : list)
        if (std::string& text = texts_[static_cast<std::size_t>(each.id)]; each.normalized)
          text = normalized(text);
    if (!options_.states_unk) check_that_nothing_is_unknown();
    if (options_.states_unk && vocabulary().special().unk == SpecialIds::kAbsent)
      fail("vocabulary: it has no piece for unknown text");
  }

  std::string normalized(const std::string& text) const override {
    if (text.empty()) return text;
    const std::string prepended = (options_.prepends ? std::string(kSpaceSymbol) : "") + text;
    return options_.replaces_spaces ? replace_all(prepended, " ", kSpaceSymbol) : prepended;
  }

  std::vector<std::int32_t> encode(const std::string& line) const override { return encode_part(line, true); }

  std::vector<std::int32_t> encode_part(const std::string& part, bool begins_line) const override {
    std::vector<std::int32_t> ids;
    if (part.empty()) return ids;
    if (options_.prefix == PrefixPlace::none) {
      append_merged(part, ids);
      return ids;
    }
    std::string text = replace_all(part, " ", kSpaceSymbol);
    const bool takes_prefix =
        options_.prefix == PrefixPlace::always || (options_.prefix == PrefixPlace::first && begins_line);
    if (takes_prefix && !text.starts_with(kSpaceSymbol)) text.insert(0, kSpaceSymbol);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t next = options_.splits ? text.find(kSpaceSymbol, begin + 1) : std::string::npos;
      const std::size_t end = std::min(next, text.size());
      append_merged(std::string_view(text).substr(begin, end - begin), ids);
      begin = end;
    }
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    const bool joins_bytes = options_.join == PieceJoin::plain || options_.join == PieceJoin::strip;
    std::string text, bytes;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      vocabulary().piece(ids[i]);  // refuses ids that are out of range
      const std::string& piece = texts_[static_cast<std::size_t>(ids[i])];
      if (const auto byte = byte_of_piece(piece); byte && joins_bytes) {
        bytes += *byte;
        continue;
      }
      append_bytes(std::exchange(bytes, {}), text);
      const bool loses_space = i == 0 && options_.join == PieceJoin::metaspace;
      text += replace_all(piece, kSpaceSymbol, loses_space ? "" : " ");
    }
    append_bytes(bytes, text);
    if (options_.join == PieceJoin::strip && text.starts_with(' ')) text.erase(0, 1);
    return replace_invalid_utf8(text);
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    return piece.starts_with(kSpaceSymbol);
  }

  const SentenceFrame* frame() const override { return &options_.frame; }
  const AddedTokens* added() const override { return options_.added.empty() ? nullptr : &options_.added; }

  std::vector<AddedToken> special_tokens() const override {
    std::vector<AddedToken> list = options_.added.list();
    list.insert(list.end(), options_.special.begin(), options_.special.end());
    return list;
  }

  std::vector<std::string> merges() const override {
    std::vector<std::string> lines;
    for (const auto& [left, right] : merges_) lines.push_back(left + ' ' + right);
    return lines;
  }

  Json settings() const override {
    Json settings{{"prefix", kPrefixPlaces.words[static_cast<std::size_t>(options_.prefix)]},
                  {"join", kPieceJoins.words[static_cast<std::size_t>(options_.join)]},
                  {"special", as_json(options_.special)}};
    for (const auto& [name, flag] : kFlags) settings[name] = options_.*flag;
    if (!options_.line_ends.empty()) settings["line_ends"] = options_.line_ends;
    add_frame(settings, options_.frame);
    options_.added.add_to(settings);
    return settings;
  }

 private:
  /// Text cannot spell a special token: none is a character or a byte, or made by merges.
  void check_special() const {
    std::set<std::int32_t> special;
    for (const AddedToken& each : options_.special) {
      special.insert(each.id);
      const std::string& text = texts_[static_cast<std::size_t>(each.id)];
      if (is_symbol(text, options_.bytes))
        fail("vocabulary: the special token \"", escaped(text),
             "\" is a character or byte, which text would spell");
    }
    for (const auto& [left, right] : merges_)
      if (const std::string made = left + right; special.contains(vocabulary().id(made)))
        fail("vocabulary: \"", escaped(left), "\" and \"", escaped(right), "\" make the special token \"",
             escaped(made), "\", which text would spell");
  }

  void check_that_nothing_is_unknown() const {
    for (unsigned byte = 0; byte < byte_ids_.size(); ++byte) {
      const bool occurs = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;  // in UTF-8
      const auto own = static_cast<char>(byte);
      const bool is_alone = byte < 0x80 && characters_.contains(std::string(1, own));
      if (occurs && !is_alone && byte_ids_[byte] == SpecialIds::kAbsent)
        fail("vocabulary: it has neither ", byte_piece(own), " nor a piece for unknown text");
    }
  }

  /// Bytes that are no UTF-8 together are all replaced, as the library does.
  static void append_bytes(const std::string& bytes, std::string& text) {
    if (find_invalid_utf8(bytes) == std::string::npos) {
      text += bytes;
      return;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) text += "\uFFFD";
  }

  bool append_bytes_of(std::string_view character, std::vector<std::int32_t>& ids) const {
    const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    for (const char byte : character)
      if (id_of(byte) == SpecialIds::kAbsent) return false;
    for (const char byte : character) ids.push_back(id_of(byte));
    return true;
  }

  void append_merged(std::string_view word, std::vector<std::int32_t>& ids) const {
    const std::size_t first = ids.size();
    // The library writes what is unknown when the next character has a piece, so after bytes between them.
    bool is_unknown = false;
    const auto append_unknown = [&] {
      if (std::exchange(is_unknown, false)) ids.push_back(vocabulary().special().unk);
    };
    for (const std::string_view character : characters(word)) {
      if (const auto found = characters_.find(std::string(character)); found != characters_.end()) {
        append_unknown();
        ids.push_back(found->second);
      } else if (!append_bytes_of(character, ids)) {
        if (!options_.fuses_unk) append_unknown();
        is_unknown = true;
      }
    }
    append_unknown();
    rules_.apply(ids, first);
  }

  CharacterBpeOptions options_;
  std::vector<Merge> merges_;
  MergeRules rules_;
  std::vector<std::string> texts_;                            ///< by id
  std::unordered_map<std::string, std::int32_t> characters_;  ///< pieces of one character
  /// Of pieces for bytes, SpecialIds::kAbsent where there is none.
  std::array<std::int32_t, 256> byte_ids_ = [] {
    std::array<std::int32_t, 256> ids{};
    ids.fill(SpecialIds::kAbsent);
    return ids;
  }();
};

}  // namespace

bool is_symbol(const std::string& piece, bool bytes) {
  return is_character(piece) || (bytes && byte_of_piece(piece));
}

SchemePtr make_character_bpe_scheme(Vocabulary vocabulary, std::vector<Merge> merges,
                                    CharacterBpeOptions options) {
  return std::make_shared<CharacterBpeScheme>(std::move(vocabulary), std::move(merges), std::move(options));
}

SchemePtr make_character_bpe_scheme(Vocabulary vocabulary, const std::vector<std::string>& merges,
                                    const Json& settings, const std::string& name) {
  const std::string where = name + "/config";
  CharacterBpeOptions options;
  for (const auto& [field, flag] : kFlags) settings.at(field).get_to(options.*flag);
  options.prefix = kPrefixPlaces(settings.at("prefix"));
  options.join = kPieceJoins(settings.at("join"));
  options.frame = frame_of_settings(settings, vocabulary, where);
  options.added = AddedTokens::of_settings(settings, vocabulary, where);
  options.special = tokens_of_json(settings.at("special"), where);
  for (const AddedToken& each : options.special)
    if (each.id >= vocabulary.size())
      fail(where, ": special token ", each.id, ", wanted one below ", vocabulary.size());
  if (settings.contains("line_ends"))
    for (const std::int64_t id : settings.at("line_ends").get<std::vector<std::int64_t>>()) {
      if (id < 0 || id >= vocabulary.size())
        fail(where, ": line_ends: id ", id, ", wanted one below ", vocabulary.size());
      options.line_ends.insert(static_cast<std::int32_t>(id));
    }
  std::vector<Merge> pairs;
  for (const std::string& line : merges) pairs.push_back(parse_merge(line, name));
  return make_character_bpe_scheme(std::move(vocabulary), std::move(pairs), std::move(options));
}

}  // namespace heed::text
