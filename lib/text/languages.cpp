#include "text/languages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/edit_distance.h"
#include "base/error.h"
#include "text/foreign_json.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kM2m =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or "
    "pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
constexpr std::string_view kWmt21 = "en ha is ja cs ru zh de";
constexpr std::string_view kAround = "__";
/// The number of codes in a message.
constexpr std::size_t kShown = 5;

bool all(std::string_view text, char first, char last) {
  return std::ranges::all_of(text, [&](char c) { return c >= first && c <= last; });
}

std::string as_token(std::string_view name) {
  return concat(kAround, name, kAround);
}

/// The codes of the most similar names, the most similar first; among equals, in their order.
std::vector<std::string> similar(const Vocabulary& vocabulary, const std::vector<std::int32_t>& codes,
                                 const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> by_distance;
  for (const std::int32_t id : codes) {
    const std::string& code = vocabulary.piece(id);
    by_distance.emplace_back(std::min(edit_distance(code, name), edit_distance(code, as_token(name))), code);
  }
  std::ranges::stable_sort(by_distance, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(by_distance.size(), kShown); ++i)
    names.push_back(by_distance[i].second);
  return names;
}

}  // namespace

bool is_language_code(std::string_view piece) {
  if (piece.starts_with(kAround)) {
    if (!piece.ends_with(kAround) || piece.size() < 6 || piece.size() > 7) return false;
    return all(piece.substr(2, piece.size() - 4), 'a', 'z');
  }
  const std::size_t at = piece.find('_');
  if ((at != 2 && at != 3) || !all(piece.substr(0, at), 'a', 'z')) return false;
  const std::string_view place = piece.substr(at + 1);
  if (place.size() == 2) return all(place, 'A', 'Z');
  return place.size() == 4 && all(place.substr(0, 1), 'A', 'Z') && all(place.substr(1), 'a', 'z');
}

std::vector<std::string> m2m_codes(const std::string& name) {
  std::vector<std::string> codes;
  for (const std::string_view code : split_any(name == "m2m100" ? kM2m : name == "wmt21" ? kWmt21 : "", " "))
    codes.push_back(as_token(code));
  return codes;
}

std::int32_t find_language(const Vocabulary& vocabulary, const std::vector<std::int32_t>& codes,
                           const std::string& name) {
  for (const std::string& code : {name, as_token(name)}) {
    if (!vocabulary.contains(code)) continue;
    if (const std::int32_t id = vocabulary.id(code); std::ranges::binary_search(codes, id)) return id;
  }
  return SpecialIds::kAbsent;
}

std::int32_t stated_language(const TokenizerConfig& config, const char* field, const Vocabulary& vocabulary,
                             const std::vector<std::int32_t>& codes) {
  const nlohmann::json stated = config.value(field);
  if (stated.is_null() || stated == "") return SpecialIds::kAbsent;
  if (!stated.is_string())
    fail(config.name(), ": ", field, ": wanted the code of a language, got ", Object::shown(stated));
  const auto name = stated.get<std::string>();
  const std::int32_t id = find_language(vocabulary, codes, name);
  if (id == SpecialIds::kAbsent)
    fail(config.name(), ": ", field, " is ", escaped(name), ", which is none of the ", codes.size(),
         " languages");
  return id;
}

std::int32_t language_of(const Vocabulary& vocabulary, const std::vector<std::int32_t>& codes,
                         const std::string& name, const std::string& option) {
  if (codes.empty())
    fail<UsageError>(option, ": the vocabulary has no codes of languages, so there is none to choose");
  const std::int32_t id = find_language(vocabulary, codes, name);
  if (id == SpecialIds::kAbsent)
    fail<UsageError>(option, ": \"", escaped(name), "\" is none of the ", codes.size(),
                     " languages, such as ", joined(similar(vocabulary, codes, name), ", "));
  return id;
}

}  // namespace heed::text
