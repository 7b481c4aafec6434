#include "text/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

/// In bytes; limits the lookup at each position of a text.
constexpr std::size_t kLongest = 1000;

/// \w of regular expressions: Alphabetic, marks, digits, connectors and joiners.
bool is_word(char32_t c) {
  if (const char kind = category(c); kind == 'L' || kind == 'M') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
             (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  }
}

/// The character that begins, or ends, at `at`.
std::string_view after(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
  return text.substr(at, end - at);
}
std::string_view before(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  return text.substr(begin, at - begin);
}

}  // namespace

std::vector<AddedToken> special_pieces(const Vocabulary& vocabulary) {
  std::set<std::int32_t> ids;  // in GPT-2 one is both bos and eos
  for (const SpecialName& each : kSpecialNames)
    if (const std::int32_t id = vocabulary.special().*each.id; id != SpecialIds::kAbsent) ids.insert(id);
  std::vector<AddedToken> list;
  for (const std::int32_t id : ids) list.push_back({.id = id});
  return list;
}

AddedTokens::AddedTokens(std::vector<AddedToken> list, const Vocabulary& vocabulary, const std::string& where,
                         bool spells_special)
    : list_(std::move(list)) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const std::int32_t id = list_[i].id;
    if (id < 0 || id >= vocabulary.size())
      fail(where, ": added token ", id, ", wanted one below ", vocabulary.size());
    const std::string& piece = vocabulary.piece(id);
    texts_.push_back(list_[i].line_ends ? with_line_ends(piece) : piece);
    if (texts_.back().size() > kLongest)
      fail(where, ": the token \"", escaped(texts_.back()), "\" is longer than ", kLongest, " bytes");
    if (!spells_special && id != vocabulary.special().mask && vocabulary.special().contains(id)) continue;
    if (list_[i].normalized)
      normalized_.push_back(i);
    else
      add(plain_, texts_[i], i);
  }
}

void AddedTokens::add(Set& set, const std::string& text, std::size_t token) const {
  set.tokens.try_emplace(text, token);
  const auto place = std::ranges::lower_bound(set.lengths, text.size(), std::greater());
  if (place == set.lengths.end() || *place != text.size()) set.lengths.insert(place, text.size());
}

void AddedTokens::cut(const Set& set, std::string_view text, const std::function<void(std::int32_t)>& found,
                      const std::function<void(const std::string&, bool)>& between) const {
  std::size_t done = 0;
  const auto matches = [&](std::size_t at) {
    for (const std::size_t length : set.lengths) {
      if (at + length > text.size()) continue;
      if (const auto match = set.tokens.find(std::string(text.substr(at, length))); match != set.tokens.end())
        return match;
    }
    return set.tokens.end();
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto match = matches(at);
    if (match == set.tokens.end()) {
      ++at;
      continue;
    }
    const AddedToken& token = list_[match->second];
    std::size_t begin = at, end = at + match->first.size();
    at = end;
    const bool inside = (begin > 0 && is_word(code_point(before(text, begin)))) ||
                        (end < text.size() && is_word(code_point(after(text, end))));
    if (token.single_word && inside) continue;
    while (token.lstrip && begin > done && is_white_space(code_point(before(text, begin))))
      begin -= before(text, begin).size();
    while (token.rstrip && end < text.size() && is_white_space(code_point(after(text, end))))
      end += after(text, end).size();
    if (begin > done) between(std::string(text.substr(done, begin - done)), done == 0);
    found(token.id);
    done = end;
  }
  if (done < text.size()) between(std::string(text.substr(done)), done == 0);
}

std::vector<std::int32_t> AddedTokens::encode(const std::string& line, const Normalize& normalize,
                                              const Encode& encode) const {
  std::call_once(normalized_set_->needed, [&] {
    for (const std::size_t token : normalized_) add(normalized_set_->set, normalize(texts_[token]), token);
  });
  std::vector<std::int32_t> ids;
  const auto found = [&](std::int32_t id) { ids.push_back(id); };
  cut(plain_, line, found, [&](const std::string& part, bool is_first) {
    cut(normalized_set_->set, normalize(part), found, [&](const std::string& rest, bool begins) {
      const std::vector<std::int32_t> more = encode(rest, is_first && begins);
      ids.insert(ids.end(), more.begin(), more.end());
    });
  });
  return ids;
}

void AddedTokens::add_to(Json& settings) const {
  if (!list_.empty()) settings["added"] = as_json(list_);
}

AddedTokens AddedTokens::of_settings(const Json& settings, const Vocabulary& vocabulary,
                                     const std::string& where) {
  if (!settings.is_object() || !settings.contains("added")) return {};
  return {tokens_of_json(settings.at("added"), where), vocabulary, where};
}

Json as_json(const std::vector<AddedToken>& tokens) {
  Json list = Json::array();
  for (const AddedToken& each : tokens) {
    list.push_back({{"id", each.id},
                    {"single_word", each.single_word},
                    {"lstrip", each.lstrip},
                    {"rstrip", each.rstrip},
                    {"normalized", each.normalized}});
    if (each.line_ends) list.back()["line_ends"] = true;
  }
  return list;
}

std::vector<AddedToken> tokens_of_json(const Json& tokens, const std::string& where) {
  std::vector<AddedToken> list;
  try {
    for (const Json& each : tokens) {
      const Json& id = each.at("id");
      if (!id.is_number_integer() || id < 0 || id > INT32_MAX)
        fail(where, ": added tokens: wanted ids, got ", escaped(id.dump(), 100));
      list.push_back({id.get<std::int32_t>(), each.at("single_word").get<bool>(),
                      each.at("lstrip").get<bool>(), each.at("rstrip").get<bool>(),
                      each.at("normalized").get<bool>(), each.value("line_ends", false)});
    }
  } catch (const Json::exception& e) {
    fail(where, ": added tokens: ", escaped(e.what(), 200));
  }
  return list;
}

}  // namespace heed::text
