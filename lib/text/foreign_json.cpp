#include "text/foreign_json.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "text/bounded_json.h"

namespace heed::text {

using Json = nlohmann::json;

namespace {

std::ifstream opened(const std::string& path, std::uintmax_t most, std::intmax_t& size) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  size = file ? static_cast<std::intmax_t>(file.tellg()) : -1;
  if (size < 0) fail(escaped(path), ": cannot be read");
  if (static_cast<std::uintmax_t>(size) > most)
    fail(escaped(path), ": has ", size, " bytes, wanted at most ", most);
  return file;
}

}  // namespace

void expect_foreign_file(const std::string& path, std::uintmax_t most) {
  std::intmax_t size = 0;
  opened(path, most, size);
}

std::string read_foreign_file(const std::string& path, std::uintmax_t most) {
  std::intmax_t size = 0;
  std::ifstream file = opened(path, most, size);
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) fail(escaped(path), ": cannot be read");
  return text;
}

Json read_foreign_json(const std::string& path) {
  Json json = parse_bounded_json(read_foreign_file(path), escaped(path), kMostTokenizerValues);
  if (!json.is_object()) fail(escaped(path), ": not a JSON object: damaged?");
  return json;
}

bool is_id(const Json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() < kMostPieces;
}

Object::Object(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  if (!json.is_object()) fail(where_, ": wanted an object, got ", shown(json));
}

const Json& Object::at(const std::string& name) {
  known_.push_back(name);
  const auto found = json_.find(name);
  if (found == json_.end()) fail(where_, ": ", name, " is missing");
  return *found;
}

const Json& Object::get(const std::string& name) {
  static const Json null;
  known_.push_back(name);
  const auto found = json_.find(name);
  return found == json_.end() ? null : *found;
}

bool Object::flag(const std::string& name, bool otherwise) {
  const Json& value = get(name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) fail(where(name), ": wanted true or false, got ", shown(value));
  return value.get<bool>();
}

std::string Object::text(const std::string& name) {
  const Json& value = at(name);
  if (!value.is_string()) fail(where(name), ": wanted a text, got ", shown(value));
  return value.get<std::string>();
}

std::int32_t Object::id(const std::string& name) {
  const Json& value = at(name);
  if (!is_id(value)) fail(where(name), ": wanted an id, got ", shown(value));
  return value.get<std::int32_t>();
}

void Object::expect(const std::string& name, std::initializer_list<Json> values) {
  const Json& value = get(name);
  if (std::ranges::find(values, value) == values.end())
    fail(where(name), ": ", shown(value), " is not supported");
}

void Object::ignore(std::initializer_list<const char*> names) {
  known_.insert(known_.end(), names.begin(), names.end());
}

void Object::finish() const {
  for (const auto& [name, value] : json_.items())
    if (std::ranges::find(known_, name) == known_.end())
      fail(where_, ": the field ", escaped(name), " = ", shown(value), " is not supported");
}

std::string Object::shown(const Json& value) {
  return escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace), 100);
}

void PieceList::add(std::int32_t id, const std::string& piece) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= most_)
    fail(where_, ": \"", escaped(piece), "\" has the id ", id, ", wanted one below ", most_,
         ", the number of pieces");
  if (at >= pieces_.size()) pieces_.resize(at + 1);
  if (!pieces_[at].empty() && pieces_[at] != piece)
    fail(where_, ": \"", escaped(pieces_[at]), "\" and \"", escaped(piece), "\" both have the id ", id);
  pieces_[at] = piece;
}

void PieceList::add_all(const Json& vocabulary, bool names_line_ends) {
  if (!vocabulary.is_object()) fail(where_, ": wanted an object of pieces and ids");
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!is_id(id)) fail(where_, ": \"", escaped(piece), "\": wanted an id, got ", Object::shown(id));
    add(id.get<std::int32_t>(), names_line_ends ? without_line_ends(piece) : piece);
  }
}

std::int32_t PieceList::find(const std::string& piece) const {
  const auto found = std::ranges::find(pieces_, piece);
  return found == pieces_.end() ? SpecialIds::kAbsent : static_cast<std::int32_t>(found - pieces_.begin());
}

Vocabulary PieceList::vocabulary(const SpecialIds& special) && {
  for (std::size_t id = 0; id < pieces_.size(); ++id)
    if (pieces_[id].empty()) fail(where_, ": no piece has the id ", id, " of ", pieces_.size());
  return Vocabulary(std::move(pieces_), special, where_);
}

Vocabulary PieceList::vocabulary(const std::vector<std::int32_t>& special) && {
  const SpecialIds ids = special_ids(special);
  return std::move(*this).vocabulary(ids);
}

SpecialIds PieceList::special_ids(const std::vector<std::int32_t>& special) const {
  static constexpr std::pair<std::string_view, std::int32_t SpecialIds::*> names[] = {
      {"<pad>", &SpecialIds::pad},
      {"[PAD]", &SpecialIds::pad},
      {"<|finetune_right_pad_id|>", &SpecialIds::pad},
      {"<unk>", &SpecialIds::unk},
      {"[UNK]", &SpecialIds::unk},
      {"<s>", &SpecialIds::bos},
      {"<bos>", &SpecialIds::bos},
      {"<|begin_of_text|>", &SpecialIds::bos},
      {"</s>", &SpecialIds::eos},
      {"<eos>", &SpecialIds::eos},
      {"<|endoftext|>", &SpecialIds::eos},
      {"<|end_of_text|>", &SpecialIds::eos},
      {"[CLS]", &SpecialIds::cls},
      {"[SEP]", &SpecialIds::sep},
      {"<mask>", &SpecialIds::mask},
      {"[MASK]", &SpecialIds::mask}};
  SpecialIds ids = kNoSpecialIds;
  for (std::int32_t id : special)
    for (const auto& [name, place] : names)
      if (pieces_[static_cast<std::size_t>(id)] == name && ids.*place == SpecialIds::kAbsent) ids.*place = id;
  return ids;
}

}  // namespace heed::text
