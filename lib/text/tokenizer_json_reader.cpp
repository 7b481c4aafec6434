#include "text/tokenizer_json_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/bpe_json_reader.h"
#include "text/foreign_json.h"
#include "text/languages.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_json_parts.h"
#include "text/word_unigram.h"
#include "text/wordpiece.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

ForeignTokenizer wordpiece_from_json(Object& root, Object& model) {
  WordPieceOptions options;
  model.ignore({"type"});
  PieceList pieces = pieces_of(root, model);
  const std::string unknown = model.text("unk_token");
  options.prefix = model.text("continuing_subword_prefix");
  options.longest_word = model.id("max_input_chars_per_word");
  if (options.longest_word > kLongestWord)
    fail(model.where("max_input_chars_per_word"), ": wanted at most ", kLongestWord, ", got ",
         options.longest_word);
  model.finish();
  TokenList added = add_tokens(root.get("added_tokens"), pieces, root.where("added_tokens"));
  expect_special(added, root.where("added_tokens"), "WordPiece does not support");
  if (unknown != "[UNK]" && unknown != "<unk>")
    fail(model.where("unk_token"), ": ", escaped(unknown), " is not supported");
  // Of several pieces for what is unknown, as MPNet has, the first counts.
  if (const std::int32_t id = pieces.find(unknown); id != SpecialIds::kAbsent)
    added.special.insert(added.special.begin(), id);

  Object normalizer(root.at("normalizer"), root.where("normalizer"));
  expect_type(normalizer, "BertNormalizer");
  options.clean = normalizer.flag("clean_text", true);
  options.split_chinese = normalizer.flag("handle_chinese_chars", true);
  options.lowercase = normalizer.flag("lowercase", true);
  options.strip_accents = normalizer.flag("strip_accents", options.lowercase);
  normalizer.finish();
  Object splitter(root.at("pre_tokenizer"), root.where("pre_tokenizer"));
  expect_type(splitter, "BertPreTokenizer");
  splitter.finish();
  options.frame = read_post_processor(root.get("post_processor"), root.where("post_processor"));
  Object decoder(root.at("decoder"), root.where("decoder"));
  expect_type(decoder, "WordPiece");
  decoder.expect("prefix", {options.prefix});
  options.tidy = decoder.flag("cleanup", true);
  decoder.finish();
  root.finish();
  Vocabulary vocabulary = vocabulary_of(std::move(pieces), added.special, options.frame, root);
  return {kWordPieceType, false, make_wordpiece_scheme(std::move(vocabulary), std::move(options))};
}

ForeignTokenizer unigram_from_json(Object& root, Object& model) {
  model.ignore({"type"});
  model.expect("byte_fallback", {nullptr, false});
  const std::string where = model.where("vocab");
  const Json& list = model.at("vocab");
  if (!list.is_array()) fail(where, ": wanted a list of pieces and scores");
  PieceList pieces(where, list.size() + root.get("added_tokens").size());
  std::vector<std::string> texts;
  std::vector<float> scores;
  for (const Json& each : list) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number() || each[0] == "")
      fail(where, ": ", Object::shown(each), ", wanted a piece and its score");
    texts.push_back(each[0].get<std::string>());
    scores.push_back(each[1].get<float>());
    pieces.add(static_cast<std::int32_t>(texts.size() - 1), texts.back());
  }
  const std::int32_t unknown = model.id("unk_id");
  model.finish();
  const TokenList added = add_tokens(root.get("added_tokens"), pieces, root.where("added_tokens"));
  expect_special(added, root.where("added_tokens"), "Unigram does not support");
  std::vector<bool> is_special(texts.size());
  for (const std::int32_t id : added.special)
    if (std::cmp_less(id, is_special.size())) is_special[static_cast<std::size_t>(id)] = true;
  WordUnigramOptions options;
  options.mask_strips = added.mask_strips;
  const std::string normalisations = read_normalisations(root, options);
  const std::string split = root.where("pre_tokenizer");
  const std::vector<Json> steps = members(root.get("pre_tokenizer"), "pretokenizers", split);
  options.only_spaces_split = steps.size() == 1;
  if (steps.empty() || steps.size() > 2 ||
      (steps.size() == 2 && type_of(steps[0], split) != "WhitespaceSplit"))
    fail(split, ": wanted Metaspace, alone or after WhitespaceSplit");
  expect_metaspace(steps.back(), split);
  expect_metaspace(root.get("decoder"), root.where("decoder"));
  options.frame = read_post_processor(root.get("post_processor"), root.where("post_processor"));
  root.finish();
  Vocabulary vocabulary = vocabulary_of(std::move(pieces), added.special, options.frame, root);
  if (vocabulary.special().unk != unknown)
    fail(model.where("unk_id"), ": ", unknown, ", wanted the id of the special token <unk>, ",
         vocabulary.special().unk);
  return {kWordUnigramType, false,
          make_word_unigram_scheme(
              std::move(vocabulary),
              sentencepiece_model(ModelType::unigram, texts, scores, is_special, unknown, normalisations),
              std::move(options))};
}

ForeignTokenizer tokenizer_from_json(const Json& json, const std::string& name) {
  Object root(json, name);
  root.ignore({"version", "truncation", "padding"});
  Object model(root.at("model"), root.where("model"));
  // Old files do not say it; they have merges then.
  const std::string type = json["model"].contains("type") ? model.text("type") : "BPE";
  if (type == "WordPiece") return wordpiece_from_json(root, model);
  if (type == "Unigram") return unigram_from_json(root, model);
  if (type != "BPE") fail_type(type, root.where("model"), "BPE, WordPiece or Unigram");
  return bpe_from_json(root, model);
}

/// The ids of special tokens that are codes of languages, in order.
std::vector<std::int32_t> languages_of(const Json& json) {
  std::vector<std::int32_t> ids;
  for (const Json& token : json.value("added_tokens", Json::array()))
    if (token.value("special", Json()) == true && is_language_code(token.at("content").get<std::string>()))
      ids.push_back(token.at("id").get<std::int32_t>());
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

/// Takes special added tokens with the ids from `rows` on out of the list, and returns them.
std::vector<std::string> taken_out(Json& json, std::int64_t rows) {
  std::vector<std::string> names;
  const auto list = json.find("added_tokens");
  if (rows == INT32_MAX || list == json.end() || !list->is_array()) return names;
  Json kept = Json::array();
  for (Json& token : *list) {
    const bool is_special = token.is_object() && token.value("special", Json()) == true;
    const Json id = is_special ? token.value("id", Json()) : Json(),
               content = is_special ? token.value("content", Json()) : Json();
    if (is_id(id) && content.is_string() && is_beyond(id.get<std::int64_t>(), rows, list->size()))
      names.push_back(content.get<std::string>());
    else
      kept.push_back(std::move(token));
  }
  *list = std::move(kept);
  return names;
}

}  // namespace

ForeignTokenizer read_tokenizer_json(Json json, const std::string& path, std::int64_t rows) {
  std::vector<std::string> left_out = taken_out(json, rows);
  ForeignTokenizer tokenizer = about_file(path, [&] { return tokenizer_from_json(json, escaped(path)); });
  tokenizer.left_out = std::move(left_out);
  tokenizer.files = {path};
  tokenizer.languages = languages_of(json);
  return tokenizer;
}

}  // namespace heed::text
