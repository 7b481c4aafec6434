#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/choice.h"
#include "base/digest.h"
#include "text/added_tokens.h"
#include "text/byte_bpe.h"
#include "text/character_bpe.h"
#include "text/foreign_tokenizer.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"
#include "text/word_unigram.h"
#include "text/wordpiece.h"

namespace heed::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<std::int32_t> ids_of(const OrderedJson& settings, const char* name) {
  return settings.at(name).get<std::vector<std::int32_t>>();
}

/// The special tokens around a sentence, and around and between a pair.
OrderedJson post_processor_of(const Tokenizer& tokenizer, const OrderedJson& settings) {
  OrderedJson tokens = OrderedJson::object();
  const int second = settings.value("second_type", 0);
  const auto add = [&](OrderedJson& list, const char* name, int type) {
    if (!settings.contains(name)) return;
    for (const std::int32_t id : ids_of(settings, name)) {
      const std::string& piece = tokenizer.piece(id);
      list.push_back({{"SpecialToken", {{"id", piece}, {"type_id", type}}}});
      tokens[piece] = {{"id", piece}, {"ids", {id}}, {"tokens", {piece}}};
    }
  };
  const auto sentence = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson single = OrderedJson::array(), pair = OrderedJson::array();
  add(single, "before", 0);
  single.push_back(sentence("A", 0));
  pair = single;
  add(single, "after", 0);
  add(pair, "between", 0);
  pair.push_back(sentence("B", second));
  add(pair, "after", second);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

/// For all pieces that are special or added tokens.
OrderedJson vocabulary_of(const Tokenizer& tokenizer) {
  OrderedJson vocabulary = OrderedJson::object();
  const auto used = std::min<std::int64_t>(tokenizer.size(), tokenizer.special().first_unused);
  for (std::int64_t id = 0; id < used; ++id) vocabulary[tokenizer.piece(static_cast<std::int32_t>(id))] = id;
  return vocabulary;
}

OrderedJson added_tokens(const Tokenizer& tokenizer, const OrderedJson& settings,
                         const std::set<std::int32_t>& ids) {
  OrderedJson list = OrderedJson::array();
  std::map<std::int32_t, OrderedJson> others;  // those that text can spell
  if (settings.contains("added"))
    for (const OrderedJson& each : settings["added"]) others[each.at("id").get<std::int32_t>()] = each;
  for (const std::int32_t id : ids) {
    OrderedJson token{{"id", id}, {"content", tokenizer.piece(id)}};
    if (const auto other = others.find(id); other != others.end()) {
      token.update(other->second);
      token["special"] = false;
    } else {
      token.update({{"single_word", false},
                    {"lstrip", id == tokenizer.special().mask && settings.value("mask_strips", false)},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
    }
    list.push_back(std::move(token));
  }
  return list;
}

std::set<std::int32_t> special_of(const Tokenizer& tokenizer) {
  std::set<std::int32_t> ids;
  for (const AddedToken& each : special_pieces(tokenizer.vocabulary())) ids.insert(each.id);
  return ids;
}

/// null, the only step, or all of them.
OrderedJson in_sequence(const OrderedJson& steps, const char* name) {
  if (steps.empty()) return nullptr;
  return steps.size() == 1 ? steps[0] : OrderedJson{{"type", "Sequence"}, {name, steps}};
}

OrderedJson byte_bpe_json(const Tokenizer& tokenizer, const OrderedJson& settings,
                          const std::vector<std::string>& merges) {
  std::set<std::int32_t> added = pieces_without_merge(tokenizer.vocabulary(), merges);
  if (settings.contains("added"))
    for (const OrderedJson& each : settings["added"]) added.insert(each.at("id").get<std::int32_t>());
  const auto pattern =
      chosen<SplitPattern>("pattern", kSplitPatterns, settings.at("pattern").get<std::string>());
  // ByteLevel has GPT-2's pattern, but only after digits.
  const bool prefix_space = settings.at("prefix_space"),
             is_gpt2 = pattern == SplitPattern::gpt2 && !settings.value("digits_last", false);
  OrderedJson level{{"type", "ByteLevel"},
                    {"add_prefix_space", prefix_space},
                    {"trim_offsets", true},
                    {"use_regex", is_gpt2}};
  OrderedJson steps = OrderedJson::array();
  if (!is_gpt2 && pattern != SplitPattern::none)
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", expression_of(pattern)}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  if (settings.contains("digits")) {
    const OrderedJson digits{{"type", "Digits"}, {"individual_digits", settings.at("digits") == "each"}};
    steps.insert(settings.at("digits_last").get<bool>() ? steps.end() : steps.begin(), digits);
  }
  steps.push_back(level);
  const bool framed = !ids_of(settings, "before").empty() || !ids_of(settings, "after").empty();
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(tokenizer, settings, added)},
          {"normalizer", tokenizer.pretokenized() ? OrderedJson() : OrderedJson{{"type", "NFC"}}},
          {"pre_tokenizer", in_sequence(steps, "pretokenizers")},
          {"post_processor", framed ? post_processor_of(tokenizer, settings) : level},
          {"decoder", level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", settings.at("ignore_merges")},
            {"vocab", vocabulary_of(tokenizer)},
            {"merges", merges}}}};
}

OrderedJson wordpiece_json(const Tokenizer& tokenizer, const OrderedJson& settings) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(tokenizer, settings, special_of(tokenizer))},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", settings.at("clean")},
            {"handle_chinese_chars", settings.at("split_chinese")},
            {"strip_accents", settings.at("strip_accents")},
            {"lowercase", settings.at("lowercase")}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", post_processor_of(tokenizer, settings)},
          {"decoder",
           {{"type", "WordPiece"}, {"prefix", settings.at("prefix")}, {"cleanup", settings.at("tidy")}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", tokenizer.piece(tokenizer.special().unk)},
            {"continuing_subword_prefix", settings.at("prefix")},
            {"max_input_chars_per_word", settings.at("longest_word")},
            {"vocab", vocabulary_of(tokenizer)}}}};
}

/// Before words are made: a table, the end of the text, and runs of spaces, as far as they are there.
OrderedJson unigram_normalizer(std::string_view table, const OrderedJson& settings) {
  OrderedJson steps = OrderedJson::array();
  if (!table.empty()) steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(table)}});
  if (settings.value("strips_end", false))
    steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  if (settings.contains("run_of_spaces"))
    steps.push_back({{"type", "Replace"},
                     {"pattern", {{"Regex", kRunOfSpacesPattern}}},
                     {"content", settings["run_of_spaces"]}});
  return in_sequence(steps, "normalizers");
}

OrderedJson word_unigram_json(const Tokenizer& tokenizer, const OrderedJson& settings,
                              const std::string& model) {
  const auto processor = load_sentencepiece(model, "Unigram model");
  OrderedJson vocabulary = OrderedJson::array();
  for (int id = 0; id < processor->GetPieceSize(); ++id)
    vocabulary.push_back({processor->IdToPiece(id), processor->GetScore(id)});
  const OrderedJson space{
      {"type", "Metaspace"}, {"replacement", kSpaceSymbol}, {"prepend_scheme", "always"}, {"split", true}};
  const OrderedJson words{{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}, space}}};
  std::set<std::int32_t> special;
  for (int id = 0; id < processor->GetPieceSize(); ++id)
    if (processor->IsControl(id) || processor->IsUnknown(id)) special.insert(id);
  const auto used = std::min<std::int64_t>(tokenizer.size(), tokenizer.special().first_unused);
  for (std::int64_t id = processor->GetPieceSize(); id < used; ++id)  // after the model's: added tokens
    special.insert(static_cast<std::int32_t>(id));
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(tokenizer, settings, special)},
          {"normalizer", unigram_normalizer(normalisation_table(model), settings)},
          {"pre_tokenizer", settings.value("only_spaces_split", false) ? space : words},
          {"post_processor", post_processor_of(tokenizer, settings)},
          {"decoder", space},
          {"model",
           {{"type", "Unigram"},
            {"unk_id", tokenizer.special().unk},
            {"vocab", vocabulary},
            {"byte_fallback", false}}}};
}

OrderedJson metaspace(const char* place, bool splits) {
  return {{"type", "Metaspace"}, {"replacement", kSpaceSymbol}, {"prepend_scheme", place}, {"split", splits}};
}

OrderedJson joining_steps(PieceJoin join) {
  if (join == PieceJoin::metaspace || join == PieceJoin::metaspace_never)
    return metaspace(join == PieceJoin::metaspace ? "always" : "never", true);
  OrderedJson steps =
      OrderedJson::array({{{"type", "Replace"}, {"pattern", {{"String", kSpaceSymbol}}}, {"content", " "}},
                          {{"type", "ByteFallback"}},
                          {{"type", "Fuse"}}});
  if (join == PieceJoin::strip)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return in_sequence(steps, "decoders");
}

OrderedJson character_bpe_json(const Tokenizer& tokenizer, const OrderedJson& settings,
                               const std::vector<std::string>& merges) {
  std::set<std::int32_t> line_ends;
  if (settings.contains("line_ends")) settings["line_ends"].get_to(line_ends);
  const auto text_of = [&](std::int32_t id) {
    const std::string& piece = tokenizer.piece(id);
    return line_ends.contains(id) ? with_line_ends(piece) : piece;
  };
  OrderedJson vocabulary = OrderedJson::object();
  std::map<std::string, std::string> texts;  // by the names of pieces
  const auto used = std::min<std::int64_t>(tokenizer.size(), tokenizer.special().first_unused);
  for (std::int32_t id = 0; id < used; ++id) vocabulary[texts[tokenizer.piece(id)] = text_of(id)] = id;
  OrderedJson pairs = OrderedJson::array();
  for (const std::string& line : merges) {
    const auto [left, right] = parse_merge(line, "merges");
    pairs.push_back({texts.at(left), texts.at(right)});
  }
  std::map<std::int32_t, OrderedJson> tokens;  // in the order of ids
  for (const char* list : {"special", "added"})
    for (OrderedJson token : settings.value(list, OrderedJson::array())) {
      const auto id = token.at("id").get<std::int32_t>();
      token.erase("line_ends");
      token["content"] = text_of(id);
      token["special"] = list == std::string_view("special");
      tokens[id] = std::move(token);
    }
  OrderedJson added = OrderedJson::array();
  for (const auto& [id, token] : tokens) added.push_back(token);
  OrderedJson normalizer = OrderedJson::array();
  if (settings.at("prepends")) normalizer.push_back({{"type", "Prepend"}, {"prepend", kSpaceSymbol}});
  if (settings.at("replaces_spaces"))
    normalizer.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceSymbol}});
  const std::string place = settings.at("prefix");
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", in_sequence(normalizer, "normalizers")},
      {"pre_tokenizer", place == "none" ? OrderedJson() : metaspace(place.c_str(), settings.at("splits"))},
      {"post_processor", post_processor_of(tokenizer, settings)},
      {"decoder", joining_steps(kPieceJoins(settings.at("join")))},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", settings.at("states_unk") ? OrderedJson("<unk>") : OrderedJson()},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", settings.at("fuses_unk")},
        {"byte_fallback", settings.at("bytes")},
        {"ignore_merges", false},
        {"vocab", vocabulary},
        {"merges", pairs}}}};
}

}  // namespace

std::string tokenizer_json(const Tokenizer& tokenizer) {
  const std::string& type = tokenizer.type();
  if (type != kByteBpeType && type != kCharacterBpeType && type != kWordPieceType && type != kWordUnigramType)
    return "";
  const TensorMap map = tokenizer.to_map();
  const auto strings = [&](const char* path) {
    if (!map.contains(path)) return std::vector<std::string>();
    const auto values = map.at(path).values<std::string>();
    return std::vector<std::string>(values.begin(), values.end());
  };
  const OrderedJson settings = OrderedJson::parse(strings("vocabulary/config").front()).at("settings");
  if (type == kCharacterBpeType)
    return character_bpe_json(tokenizer, settings, strings("vocabulary/merges")).dump(1) + "\n";
  if (type == kByteBpeType)
    return byte_bpe_json(tokenizer, settings, strings("vocabulary/merges")).dump(1) + "\n";
  if (type == kWordPieceType) return wordpiece_json(tokenizer, settings).dump(1) + "\n";
  const auto bytes = map.at("vocabulary/sentencepiece").values<std::uint8_t>();
  return word_unigram_json(tokenizer, settings, {bytes.begin(), bytes.end()}).dump(1) + "\n";
}

}  // namespace heed::text
