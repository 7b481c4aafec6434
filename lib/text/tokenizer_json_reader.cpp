#include "text/tokenizer_json_reader.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/digest.h"
#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/foreign_json.h"
#include "text/foreign_sentencepiece.h"
#include "text/languages.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "text/word_unigram.h"
#include "text/wordpiece.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostSteps = 64;       // one after the other
constexpr std::size_t kLongestPiece = 1000;  // bytes, where all ways to make it are looked for

std::string type_of(const Json& json, const std::string& where) {
  return json.is_null() ? "" : Object(json, where).text("type");
}

[[noreturn]] void fail_type(const std::string& type, const std::string& where, const char* wanted) {
  fail(where, ": type ", escaped(type), " is not supported, wanted ", wanted);
}

/// The members of a Sequence, or the object itself; none for null.
std::vector<Json> members(const Json& json, const std::string& list, const std::string& where) {
  if (type_of(json, where) != "Sequence")
    return json.is_null() ? std::vector<Json>() : std::vector<Json>{json};
  Object sequence(json, where);
  sequence.text("type");
  const Json& all = sequence.at(list);
  sequence.finish();
  if (!all.is_array()) fail(where, ": ", list, " is no list");
  if (all.size() > kMostSteps) fail(where, ": a sequence of ", all.size(), ", wanted at most ", kMostSteps);
  return {all.begin(), all.end()};
}

struct TokenList {
  std::vector<std::int32_t> special;
  std::vector<AddedToken> others;
  bool mask_strips = false;  ///< the mask takes the white space before it
};

/// The added tokens, which are also added to the pieces.
TokenList add_tokens(const Json& list, PieceList& pieces, const std::string& where) {
  TokenList added;
  if (list.is_null()) return added;
  if (!list.is_array()) fail(where, ": not a list");
  for (const Json& each : list) {
    Object token(each, where);
    const std::int32_t id = token.id("id");
    const std::string content = token.text("content");
    // How text spells it, which of the special ones only the mask can here.
    const bool special = token.flag("special", false), left = token.flag("lstrip", false),
               right = token.flag("rstrip", false), alone = token.flag("single_word", false),
               normalized = token.flag("normalized", !special);
    if (special && (content == "<mask>" || content == "[MASK]")) {
      if (right) fail(where, ": rstrip of ", content, " is not supported");
      added.mask_strips = left;
    }
    token.finish();
    pieces.add(id, content);
    if (special)
      added.special.push_back(id);
    else
      added.others.push_back({id, alone, left, right, normalized});
  }
  return added;
}

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
    } else if (type == "ByteLevel" && !has_level) {
      has_level = true;
      read_byte_level(step, uses_pattern, options);
    } else {
      fail_type(type, where, "ByteLevel, or Split and then ByteLevel");
    }
  }
  if (!has_level) fail(where, ": ByteLevel is missing: only byte-level BPE is supported");
  if (uses_pattern && options.pattern != SplitPattern::none)
    fail(where, ": two patterns, one after the other, are not supported");
  if (uses_pattern) options.pattern = SplitPattern::gpt2;
  if (options.prefix_space && !uses_pattern)
    fail(where, ": add_prefix_space without use_regex is not supported");
}

/// A special token of a template, or a sentence, which has no ids.
struct TemplateStep {
  std::vector<std::int32_t> ids;
  std::int32_t type = 0;
};

std::vector<TemplateStep> template_steps(const Json& steps, const Json& tokens, const std::string& where) {
  std::vector<TemplateStep> list;
  if (!steps.is_array() || !tokens.is_object()) fail(where, ": wanted single, pair and special_tokens");
  if (steps.size() > kMostFrameIds)
    fail(where, ": a template of ", steps.size(), " steps, wanted at most ", kMostFrameIds);
  for (const Json& each : steps) {
    Object step(each, where);
    const Json& sequence = step.get("Sequence");
    Object one(sequence.is_null() ? step.at("SpecialToken") : sequence, where);
    TemplateStep& added = list.emplace_back();
    const std::string name = one.text("id");
    const Json& type = one.get("type_id");
    if (!type.is_null() && type != 0 && type != 1)
      fail(one.where("type_id"), ": wanted 0 or 1, got ", Object::shown(type));
    added.type = type == 1 ? 1 : 0;
    one.finish();
    step.finish();
    if (!sequence.is_null()) continue;
    if (!tokens.contains(name)) fail(where, ": the token ", escaped(name), " is not among special_tokens");
    Object special(tokens[name], where);
    if (special.at("ids").size() > kMostFrameIds)
      fail(where, ": the token ", escaped(name), " has more than ", kMostFrameIds, " ids");
    for (const Json& id : special.at("ids")) {
      if (!is_id(id)) fail(where, ": wanted an id, got ", Object::shown(id));
      added.ids.push_back(id.get<std::int32_t>());
    }
    if (added.ids.empty()) fail(where, ": the token ", escaped(name), " has no ids");
  }
  return list;
}

/// "A" between special tokens, and "A" and "B" between special tokens. A pair whose parts are framed
/// differently is ignored.
SentenceFrame read_template(const Json& single, const Json& both, const Json& tokens,
                            const std::string& where) {
  SentenceFrame frame;
  bool after = false;
  for (const TemplateStep& step : template_steps(single, tokens, where)) {
    if (step.ids.empty() && std::exchange(after, true))
      fail(where, ": a sentence that occurs twice is not supported");
    auto& part = after ? frame.after : frame.before;
    part.insert(part.end(), step.ids.begin(), step.ids.end());
  }
  if (!after) fail(where, ": a sentence frame without the sentence");
  if (both.is_null()) return frame;
  std::vector<std::int32_t> parts[3];  // before A, between, after B
  std::size_t part = 0;
  bool fits = true;
  std::int32_t second_type = 0;
  for (const TemplateStep& step : template_steps(both, tokens, where)) {
    if (step.ids.empty() && ++part == 2) second_type = step.type;
    if (part > 2) return frame;
    fits = fits && step.type == (part == 2 ? second_type : 0);
    parts[part].insert(parts[part].end(), step.ids.begin(), step.ids.end());
  }
  if (part != 2 || !fits || parts[0] != frame.before || parts[2] != frame.after) return frame;
  frame.between = parts[1];
  frame.second_type = second_type;
  return frame;
}

/// ["</s>", 2]
std::int32_t pair_id(const Json& pair, const std::string& where) {
  if (!pair.is_array() || pair.size() != 2 || !is_id(pair[1]))
    fail(where, ": wanted a token and its id, got ", Object::shown(pair));
  return pair[1].get<std::int32_t>();
}

SentenceFrame read_post_processor(const Json& json, const std::string& where) {
  SentenceFrame frame;
  for (const Json& each : members(json, "processors", where)) {
    Object step(each, where);
    const std::string type = step.text("type");
    if (type == "ByteLevel") {
      step.ignore({"add_prefix_space", "trim_offsets", "use_regex"});  // of offsets only
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      const std::int32_t separator = pair_id(step.at("sep"), where);
      frame.before.push_back(pair_id(step.at("cls"), where));
      frame.after.push_back(separator);
      frame.second_type = type == "BertProcessing" ? 1 : 0;
      frame.between.assign(type == "BertProcessing" ? 1 : 2, separator);
      step.ignore({"add_prefix_space", "trim_offsets"});
    } else if (type == "TemplateProcessing") {
      frame = read_template(step.at("single"), step.get("pair"), step.at("special_tokens"), where);
    } else {
      fail_type(type, where, "ByteLevel, TemplateProcessing, RobertaProcessing or BertProcessing");
    }
    step.finish();
  }
  return frame;
}

void read_decoder(const Json& json, const std::string& where) {
  for (const Json& each : members(json, "decoders", where))
    if (const std::string type = type_of(each, where); type != "ByteLevel")
      fail_type(type, where, "ByteLevel");
}

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

void expect_type(Object& object, const char* wanted) {
  if (const std::string type = object.text("type"); type != wanted)
    fail_type(type, object.where("type"), wanted);
}

/// What comes before Unigram's words, in this order and each by choice: a table, which is returned, the end
/// of the text, and runs of spaces.
std::string read_normalisations(Object& root, WordUnigramOptions& options) {
  const std::string where = root.where("normalizer");
  std::string table;
  int before = 0;
  for (const Json& each : members(root.get("normalizer"), "normalizers", where)) {
    Object step(each, where);
    const std::string type = step.text("type");
    const int place = type == "Precompiled" ? 1 : type == "Strip" ? 2 : type == "Replace" ? 3 : 0;
    if (place <= std::exchange(before, place))
      fail_type(type, where, "Precompiled, then Strip, then Replace, or some of these");
    if (type == "Precompiled") {
      const auto decoded = from_base64(step.text("precompiled_charsmap"));
      if (!decoded) fail(step.where("precompiled_charsmap"), ": wanted base64");
      table = *decoded;
    } else if (type == "Strip") {
      step.expect("strip_left", {false});
      options.strips_end = step.flag("strip_right", false);
    } else {
      Object pattern(step.at("pattern"), step.where("pattern"));
      pattern.expect("Regex", {kRunOfSpacesPattern});
      pattern.finish();
      step.expect("content", {" ", std::string(kSpaceSymbol)});
      options.run_of_spaces = step.text("content");
    }
    step.finish();
  }
  return table;
}

void expect_metaspace(const Json& json, const std::string& where) {
  Object step(json, where);
  if (const std::string type = step.text("type"); type != "Metaspace") fail_type(type, where, "Metaspace");
  step.expect("replacement", {std::string(kSpaceSymbol)});
  step.expect("add_prefix_space", {nullptr, true});
  step.expect("prepend_scheme", {nullptr, "always"});
  step.expect("split", {nullptr, true});
  step.ignore({"str_rep"});  // the replacement again, in old files
  step.finish();
}

/// The model's pieces. The ids of added tokens may lie between theirs.
PieceList pieces_of(Object& root, Object& model) {
  const Json& vocabulary = model.at("vocab");
  PieceList pieces(model.where("vocab"), vocabulary.size() + root.get("added_tokens").size());
  pieces.add_all(vocabulary);
  return pieces;
}

/// Adds the special pieces, and those needed for the frame of a sentence.
Vocabulary vocabulary_of(PieceList pieces, const std::vector<std::int32_t>& special,
                         const SentenceFrame& frame, const Object& root) {
  Vocabulary vocabulary = std::move(pieces).vocabulary(special);
  check_frame(frame, vocabulary, root.where("post_processor"));
  return vocabulary;
}

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
  if (!added.others.empty())
    fail(root.where("added_tokens"), ": token ", added.others[0].id,
         " is not special, which WordPiece does not support");
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
  if (!added.others.empty())
    fail(root.where("added_tokens"), ": token ", added.others[0].id,
         " is not special, which Unigram does not support");
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
ForeignTokenizer metaspace_bpe_from_json(Object& root, Object& model) {
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
  if (!added.others.empty())
    fail(root.where("added_tokens"), ": token ", added.others[0].id,
         " is not special, which is not supported");
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

ForeignTokenizer tokenizer_from_json(const Json& json, const std::string& name) {
  Object root(json, name);
  root.ignore({"version", "truncation", "padding"});
  Object model(root.at("model"), root.where("model"));
  // Old files do not say it; they have merges then.
  const std::string type = json["model"].contains("type") ? model.text("type") : "BPE";
  if (type == "WordPiece") return wordpiece_from_json(root, model);
  if (type == "Unigram") return unigram_from_json(root, model);
  if (type != "BPE") fail_type(type, root.where("model"), "BPE, WordPiece or Unigram");
  if (json.contains("pre_tokenizer") && json["pre_tokenizer"].is_object() &&
      json["pre_tokenizer"].value("type", Json()) == "Metaspace")
    return metaspace_bpe_from_json(root, model);
  model.ignore({"type", "unk_token", "fuse_unk"});  // no byte is unknown
  for (const char* field : {"dropout"}) model.expect(field, {nullptr});
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

/// The ids of special tokens that are codes of languages, in order.
std::vector<std::int32_t> languages_of(const Json& json) {
  std::vector<std::int32_t> ids;
  for (const Json& token : json.value("added_tokens", Json::array()))
    if (token.value("special", false) && is_language_code(token.at("content").get<std::string>()))
      ids.push_back(token.at("id").get<std::int32_t>());
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

}  // namespace

ForeignTokenizer read_tokenizer_json(const Json& json, const std::string& path) {
  ForeignTokenizer tokenizer = about_file(path, [&] { return tokenizer_from_json(json, escaped(path)); });
  tokenizer.files = {path};
  tokenizer.languages = languages_of(json);
  return tokenizer;
}

}  // namespace heed::text
