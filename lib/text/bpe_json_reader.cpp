#include "text/bpe_json_reader.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/character_bpe.h"
#include "text/foreign_sentencepiece.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_json_parts.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestPiece = 1000;  // bytes, where all ways to make it are looked for

std::vector<Merge> read_merges(const Json& list, const std::string& where) {
  if (!list.is_array()) fail(where, ": not a list");
  std::vector<Merge> merges;
  for (const Json& each : list) {
    const bool is_pair = each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
    if (!is_pair && !each.is_string()) fail(where, ": ", Object::shown(each), " is not a merge");
    merges.push_back(is_pair ? Merge{each[0].get<std::string>(), each[1].get<std::string>()}
                             : parse_merge(each.get<std::string>(), where));
  }
  return merges;
}

// ---- byte-level ----

bool read_normalizer(const Json& json, const std::string& where) {
  const std::vector<Json> steps = members(json, "normalizers", where);
  for (const Json& step : steps) {
    Object one(step, where);
    if (const std::string type = one.text("type"); type != "NFC") fail_type(type, where, "NFC");
    one.finish();
  }
  return !steps.empty();
}

void read_byte_level(Object& level, bool& uses_pattern, ByteBpeOptions& options) {
  options.prefix_space = level.flag("add_prefix_space", true);
  uses_pattern = level.flag("use_regex", true);
  level.ignore({"trim_offsets"});
  level.finish();
}

void read_pre_tokenizer(const Json& json, const std::string& where, ByteBpeOptions& options) {
  bool has_level = false, uses_pattern = false;
  options.pattern = SplitPattern::none;
  for (const Json& each : members(json, "pretokenizers", where)) {
    Object step(each, where);
    const std::string type = step.text("type");
    if (type == "Split" && !has_level && options.pattern == SplitPattern::none) {
      Object pattern(step.at("pattern"), step.where("pattern"));
      options.pattern = pattern_of_expression(pattern.text("Regex"));
      pattern.finish();
      step.expect("behavior", {"Isolated"});
      step.expect("invert", {false});
      step.finish();
    } else if (type == "Digits" && !has_level && options.digits == DigitSplit::none) {
      step.at("individual_digits");
      options.digits = step.flag("individual_digits", false) ? DigitSplit::each : DigitSplit::runs;
      options.digits_last = options.pattern != SplitPattern::none;
      step.finish();
    } else if (type == "ByteLevel" && !has_level) {
      has_level = true;
      read_byte_level(step, uses_pattern, options);
    } else {
      fail_type(type, where, "ByteLevel, with Split, Digits or both of them before it");
    }
  }
  if (!has_level)
    fail(where,
         ": ByteLevel is missing, and byte_fallback, Prepend, Replace or Metaspace, by which BPE of "
         "characters is recognised, too");
  if (uses_pattern && options.pattern != SplitPattern::none)
    fail(where, ": two patterns, one after the other, are not supported");
  if (uses_pattern) options.pattern = SplitPattern::gpt2;
  if (options.prefix_space && !uses_pattern)
    fail(where, ": add_prefix_space without use_regex is not supported");
  // The library would put a space before each part.
  if (options.prefix_space && options.digits != DigitSplit::none)
    fail(where, ": add_prefix_space beside Digits is not supported");
}

void read_decoder(const Json& json, const std::string& where) {
  for (const Json& each : members(json, "decoders", where))
    if (const std::string type = type_of(each, where); type != "ByteLevel")
      fail_type(type, where, "ByteLevel");
}

ForeignTokenizer byte_bpe_from_json(Object& root, Object& model) {
  model.ignore({"type", "unk_token", "fuse_unk"});  // no byte is unknown
  model.expect("dropout", {nullptr});
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"})
    model.expect(field, {nullptr, ""});
  model.expect("byte_fallback", {nullptr, false});
  ByteBpeOptions options;
  options.ignore_merges = model.flag("ignore_merges", false);
  PieceList pieces = pieces_of(root, model);
  std::vector<Merge> merges = read_merges(model.at("merges"), model.where("merges"));
  model.finish();
  const TokenList added = add_tokens(root.get("added_tokens"), pieces, root.where("added_tokens"));
  // Pieces that no merge makes, but that might occur in text.
  if (options.ignore_merges && std::ranges::any_of(added.others, &AddedToken::single_word))
    fail(root.where("added_tokens"), ": single_word beside ignore_merges is not supported");
  const bool composes = read_normalizer(root.get("normalizer"), root.where("normalizer"));
  read_pre_tokenizer(root.get("pre_tokenizer"), root.where("pre_tokenizer"), options);
  options.frame = read_post_processor(root.get("post_processor"), root.where("post_processor"));
  read_decoder(root.get("decoder"), root.where("decoder"));
  options.mask_strips = added.mask_strips;
  root.finish();
  Vocabulary vocabulary = vocabulary_of(std::move(pieces), added.special, options.frame, root);
  options.added = {added.others, vocabulary, root.where("added_tokens")};
  return {kByteBpeType, composes,
          make_byte_bpe_scheme(std::move(vocabulary), std::move(merges), std::move(options))};
}

// ---- NLLB ----

/// SentencePiece's BPE merges whichever neighbours make the best piece, the library those of the first merge
/// in its list. Both find the same pieces if the list has each way to make a piece of two others, those of a
/// better piece first. The result has a score for each piece, or the reason why not.
std::vector<float> scores_of_merges(const std::vector<std::string>& pieces, const std::vector<bool>& special,
                                    const std::vector<Merge>& merges, const std::string& where) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (!special[id]) ids.emplace(pieces[id], id);
  std::vector<float> scores(pieces.size());
  std::vector<std::size_t> ways(pieces.size());
  std::size_t last = pieces.size();
  float score = 0;
  for (const auto& [left, right] : merges) {
    const std::string made = left + right;
    const auto found = ids.find(made);
    if (found == ids.end() || !ids.contains(left) || !ids.contains(right))
      fail(where, ": ", escaped(left), " and ", escaped(right), ": both and what they make must be pieces");
    const std::size_t id = found->second;
    if (id != last && ways[id] > 0)
      fail(where, ": the merges of ", escaped(made), " stand apart, which is not supported");
    if (id != last) score -= 1;
    scores[id] = score;
    ++ways[id];
    last = id;
  }
  for (const auto& [piece, id] : ids) {
    if (piece.size() > kLongestPiece)
      fail(where, ": a piece has ", piece.size(), " bytes, wanted at most ", kLongestPiece);
    std::size_t halves = 0, at = 0;
    const std::vector<std::string_view> all = characters(piece);
    for (const std::string_view character : all) {
      if (!ids.contains(character))
        fail(where, ": ", escaped(piece), " has the character ", escaped(character), ", which is no piece");
      if (at > 0) halves += ids.contains(piece.substr(0, at)) && ids.contains(piece.substr(at));
      at += character.size();
    }
    if (halves != ways[id])
      fail(where, ": ", escaped(piece), " is made by ", ways[id], " merges of ", halves,
           ", which is not supported");
  }
  return scores;
}

/// NLLB's, with fairseq's ids: BPE of words that begin with U+2581.
ForeignTokenizer nllb_from_json(Object& root, Object& model) {
  model.ignore({"type"});
  for (const char* field : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    model.expect(field, {nullptr});
  model.expect("unk_token", {"<unk>"});
  model.expect("fuse_unk", {true});
  for (const char* field : {"byte_fallback", "ignore_merges"}) model.expect(field, {nullptr, false});
  const std::string where = model.where("merges");
  const Json& vocabulary = model.at("vocab");
  PieceList pieces = pieces_of(root, model);
  const std::size_t size = pieces.size();
  // In SentencePiece's order: its pad has no piece, and unk is first.
  std::vector<std::string> texts{"<unk>", "<s>", "</s>"};
  texts.resize(std::max<std::size_t>(size, 4) - 1);
  const std::vector<Merge> merges = read_merges(model.at("merges"), where);
  for (const auto& [piece, id] : vocabulary.items()) {
    const auto at = id.get<std::size_t>();
    constexpr std::array<std::string_view, 4> first{"<s>", "<pad>", "</s>", "<unk>"};
    if (at < first.size() && piece != first[at])
      fail(model.where("vocab"), ": piece ", at, " is ", escaped(piece), ", wanted ", first[at]);
    if (at >= first.size()) texts[at - 1] = piece;
  }
  model.finish();
  const TokenList added = add_tokens(root.get("added_tokens"), pieces, root.where("added_tokens"));
  expect_special(added, root.where("added_tokens"), "is not supported");
  std::vector<bool> special(texts.size());
  for (std::size_t i = 0; i < 3; ++i) special[i] = true;
  WordUnigramOptions steps;
  const std::string normalisations = read_normalisations(root, steps);
  if (steps.strips_end || steps.run_of_spaces != " ")
    fail(root.where("normalizer"), ": wanted Precompiled, then Replace of several spaces by one");
  expect_metaspace(root.get("pre_tokenizer"), root.where("pre_tokenizer"));
  expect_metaspace(root.get("decoder"), root.where("decoder"));
  ForeignSentencePieceOptions options;
  options.frame = read_post_processor(root.get("post_processor"), root.where("post_processor"));
  root.finish();
  Vocabulary all = vocabulary_of(std::move(pieces), added.special, options.frame, root);
  const std::vector<float> scores = scores_of_merges(texts, special, merges, where);
  return {kSentencePieceType, false,
          make_foreign_sentencepiece_scheme(
              std::move(all), sentencepiece_model(ModelType::bpe, texts, scores, special, 0, normalisations),
              std::move(options))};
}

// ---- characters ----

/// {"String": text}
void expect_pattern(Object& step, const std::string& text) {
  Object pattern(step.at("pattern"), step.where("pattern"));
  pattern.expect("String", {text});
  pattern.finish();
}

/// Prepend, then Replace, or one of them.
void read_character_normalizer(const Json& json, const std::string& where, CharacterBpeOptions& options) {
  for (const Json& each : members(json, "normalizers", where)) {
    Object step(each, where);
    const std::string type = step.text("type");
    if (type == "Prepend" && !options.prepends && !options.replaces_spaces) {
      step.expect("prepend", {std::string(kSpaceSymbol)});
      options.prepends = true;
    } else if (type == "Replace" && !options.replaces_spaces) {
      expect_pattern(step, " ");
      step.expect("content", {std::string(kSpaceSymbol)});
      options.replaces_spaces = true;
    } else {
      fail_type(type, where, "Prepend, then Replace, or one of them");
    }
    step.finish();
  }
}

/// What a Metaspace, of splitting or of joining, says of the beginning; its `split` is left to be read.
PrefixPlace read_metaspace(Object& step) {
  step.expect("replacement", {std::string(kSpaceSymbol)});
  step.expect("prepend_scheme", {nullptr, "always", "first", "never"});
  const Json& scheme = step.get("prepend_scheme");
  const PrefixPlace place = scheme.is_null() ? PrefixPlace::always : kPrefixPlaces(scheme);
  // In old files it says the same.
  step.expect("add_prefix_space", {nullptr, place != PrefixPlace::never});
  step.ignore({"str_rep"});
  return place;
}

void read_character_splitter(const Json& json, const std::string& where, CharacterBpeOptions& options) {
  const std::vector<Json> steps = members(json, "pretokenizers", where);
  if (steps.empty()) return;
  Object step(steps[0], where);
  const std::string type = step.text("type");
  if (steps.size() > 1) fail(where, ": a sequence of ", steps.size(), " steps is not supported");
  if (type == "Metaspace") {
    options.prefix = read_metaspace(step);
    options.splits = step.flag("split", true);
  } else if (type == "Split") {
    // Nothing is left to split at after Replace, as in Gemma.
    if (!options.replaces_spaces)
      fail(where, ": Split without a normalizer that replaces spaces is not supported");
    expect_pattern(step, " ");
    step.expect("behavior", {"MergedWithPrevious"});
    step.expect("invert", {false});
  } else {
    fail_type(type, where, "Metaspace or Split");
  }
  step.finish();
}

PieceJoin read_character_decoder(const Json& json, const std::string& where) {
  const std::vector<Json> steps = members(json, "decoders", where);
  constexpr std::array<std::string_view, 4> wanted{"Replace", "ByteFallback", "Fuse", "Strip"};
  if (steps.size() == 1 && type_of(steps[0], where) == "Metaspace") {
    Object step(steps[0], where);
    step.text("type");
    const PrefixPlace place = read_metaspace(step);
    step.flag("split", true);
    step.finish();
    return place == PrefixPlace::never ? PieceJoin::metaspace_never : PieceJoin::metaspace;
  }
  for (std::size_t i = 0; i < std::max(steps.size(), wanted.size() - 1); ++i) {
    const std::string type = i < steps.size() ? type_of(steps[i], where) : "";
    if (i >= wanted.size() || type != wanted[i])
      fail(where, ": step ", i + 1, " is ", type.empty() ? "missing" : escaped(type),
           ", wanted Metaspace, or Replace, ByteFallback, Fuse and by choice Strip");
    Object step(steps[i], where);
    step.text("type");
    if (type == "Replace") {
      expect_pattern(step, std::string(kSpaceSymbol));
      step.expect("content", {" "});
    } else if (type == "Strip") {
      step.expect("content", {" "});
      step.expect("start", {1});
      step.expect("stop", {0});
    }
    step.finish();
  }
  return steps.size() == wanted.size() ? PieceJoin::strip : PieceJoin::plain;
}

/// Merges by the names of pieces in the vocabulary. They are stored as "a b", so no piece has a space.
std::vector<Merge> character_merges(const Json& list, const std::string& where) {
  std::vector<Merge> merges = read_merges(list, where);
  for (auto& [left, right] : merges) {
    if (left.empty() || right.empty() || (left + right).find(' ') != std::string::npos)
      fail(where, ": ", escaped(left), " and ", escaped(right),
           ": a piece with a space, or an empty one, is not supported");
    left = without_line_ends(left);
    right = without_line_ends(right);
  }
  return merges;
}

void note_line_ends(std::int32_t id, const std::string& piece, const std::string& where,
                    CharacterBpeOptions& options) {
  if (piece.find('\n') == std::string::npos) return;
  if (with_line_ends(piece) != piece)
    fail(where, ": ", escaped(piece), ": <newline> beside an end of line is not supported");
  options.line_ends.insert(id);
}

/// Those that a vocabulary has by name: not a mask, which text would spell, though no such model predicts it.
std::vector<std::int32_t> special_of_characters(const std::vector<std::int32_t>& added,
                                                const PieceList& pieces, bool has_unknown,
                                                const std::string& where) {
  std::vector<std::int32_t> special;
  if (has_unknown) special.push_back(pieces.find("<unk>"));
  if (has_unknown && special[0] == SpecialIds::kAbsent) fail(where, ": <unk> is none of the pieces");
  const std::int32_t masks[] = {pieces.find("<mask>"), pieces.find("[MASK]")};
  for (const std::int32_t id : added)
    if (std::ranges::find(masks, id) == std::end(masks)) special.push_back(id);
  return special;
}

ForeignTokenizer character_bpe_from_json(Object& root, Object& model) {
  CharacterBpeOptions options;
  model.ignore({"type"});
  model.expect("dropout", {nullptr});
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"})
    model.expect(field, {nullptr, ""});
  model.expect("ignore_merges", {nullptr, false});
  model.expect("unk_token", {nullptr, "<unk>"});
  options.states_unk = !model.get("unk_token").is_null();
  options.bytes = model.flag("byte_fallback", false);
  options.fuses_unk = model.flag("fuse_unk", false);
  PieceList pieces = pieces_of(root, model, true);
  const Json& vocabulary = model.at("vocab");
  for (const auto& [piece, id] : vocabulary.items())
    note_line_ends(id.get<std::int32_t>(), piece, model.where("vocab"), options);
  std::vector<Merge> merges = character_merges(model.at("merges"), model.where("merges"));
  model.finish();
  const std::string at_added = root.where("added_tokens");
  TokenList added = add_tokens(root.get("added_tokens"), pieces, at_added, true);
  for (auto* list : {&added.special_tokens, &added.others}) {
    std::ranges::sort(*list, {}, &AddedToken::id);
    if (const auto twice = std::ranges::adjacent_find(*list, {}, &AddedToken::id); twice != list->end())
      fail(at_added, ": token ", twice->id, " is listed twice");
  }
  for (const Json& token : root.get("added_tokens")) {
    const auto piece = token.at("content").get<std::string>();
    note_line_ends(token.at("id").get<std::int32_t>(), piece, at_added, options);
    // A vocabulary cannot say of a symbol that text does not have it.
    if (is_symbol(piece, options.bytes) && !vocabulary.contains(piece))
      fail(at_added, ": ", escaped(piece),
           ": a character or byte that the model does not have is not supported");
  }
  const std::vector<std::int32_t> special =
      special_of_characters(added.special, pieces, options.states_unk, model.where("unk_token"));
  options.special = std::move(added.special_tokens);
  read_character_normalizer(root.get("normalizer"), root.where("normalizer"), options);
  read_character_splitter(root.get("pre_tokenizer"), root.where("pre_tokenizer"), options);
  options.join = read_character_decoder(root.get("decoder"), root.where("decoder"));
  options.frame = read_post_processor(root.get("post_processor"), root.where("post_processor"));
  root.finish();
  Vocabulary all = vocabulary_of(std::move(pieces), special, options.frame, root);
  options.added = {std::move(added.others), all, at_added};
  return {kCharacterBpeType, false,
          make_character_bpe_scheme(std::move(all), std::move(merges), std::move(options))};
}

}  // namespace

ForeignTokenizer bpe_from_json(Object& root, Object& model) {
  std::vector<std::string> before, splitters;
  for (const Json& step : members(root.get("normalizer"), "normalizers", root.where("normalizer")))
    before.push_back(type_of(step, root.where("normalizer")));
  for (const Json& step : members(root.get("pre_tokenizer"), "pretokenizers", root.where("pre_tokenizer")))
    splitters.push_back(type_of(step, root.where("pre_tokenizer")));
  const auto has = [](const std::vector<std::string>& types, const char* type) {
    return std::ranges::find(types, type) != types.end();
  };
  if (has(splitters, "ByteLevel")) return byte_bpe_from_json(root, model);
  if (has(splitters, "Metaspace") && has(before, "Precompiled")) return nllb_from_json(root, model);
  if (has(splitters, "Metaspace") || has(before, "Prepend") || has(before, "Replace") ||
      model.get("byte_fallback") == true)
    return character_bpe_from_json(root, model);
  return byte_bpe_from_json(root, model);
}
}  // namespace heed::text
