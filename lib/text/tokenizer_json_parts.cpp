#include "text/tokenizer_json_parts.h"

#include <utility>

#include "base/digest.h"
#include "base/error.h"

namespace heed::text {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostSteps = 64;  // one after the other

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

}  // namespace

std::string type_of(const Json& json, const std::string& where) {
  return json.is_null() ? "" : Object(json, where).text("type");
}

void fail_type(const std::string& type, const std::string& where, const char* wanted) {
  fail(where, ": type ", escaped(type), " is not supported, wanted ", wanted);
}

void expect_type(Object& object, const char* wanted) {
  if (const std::string type = object.text("type"); type != wanted)
    fail_type(type, object.where("type"), wanted);
}

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

TokenList add_tokens(const Json& list, PieceList& pieces, const std::string& where, bool names_line_ends) {
  TokenList added;
  if (list.is_null()) return added;
  if (!list.is_array()) fail(where, ": not a list");
  for (const Json& each : list) {
    Object token(each, where);
    const std::int32_t id = token.id("id");
    const std::string text = token.text("content"),
                      content = names_line_ends ? without_line_ends(text) : text;
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
    (special ? added.special_tokens : added.others)
        .push_back({id, alone, left, right, normalized, content != text});
    if (special) added.special.push_back(id);
  }
  return added;
}

void expect_special(const TokenList& added, const std::string& where, const char* reason) {
  if (!added.others.empty()) fail(where, ": token ", added.others[0].id, " is not special, which ", reason);
}

PieceList pieces_of(Object& root, Object& model, bool names_line_ends) {
  const Json& vocabulary = model.at("vocab");
  PieceList pieces(model.where("vocab"), vocabulary.size() + root.get("added_tokens").size());
  pieces.add_all(vocabulary, names_line_ends);
  return pieces;
}

Vocabulary vocabulary_of(PieceList pieces, const std::vector<std::int32_t>& special,
                         const SentenceFrame& frame, const Object& root) {
  Vocabulary vocabulary = std::move(pieces).vocabulary(special);
  check_frame(frame, vocabulary, root.where("post_processor"));
  return vocabulary;
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

}  // namespace heed::text
