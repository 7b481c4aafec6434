#include "text/vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kLineEnd = "<newline>";

}  // namespace

std::string without_line_ends(std::string_view piece) {
  return replace_all(piece, "\n", kLineEnd);
}

std::string with_line_ends(std::string_view piece) {
  return replace_all(piece, kLineEnd, "\n");
}

bool is_special_piece(std::string_view piece) {
  return std::ranges::any_of(kSpecialNames, [&](const SpecialName& each) { return piece == each.piece; });
}

Vocabulary::Vocabulary(std::string_view extra) {
  std::vector<std::string_view> names = split_any(extra, ",");
  for (const SpecialName& each : kSpecialNames) {
    std::int32_t& id = special_.*each.id;
    if (id == SpecialIds::kAbsent && std::erase(names, each.name) > 0) id = static_cast<std::int32_t>(size());
    if (id != SpecialIds::kAbsent) add(each.piece);
  }
  if (!names.empty()) fail<UsageError>("special piece \"", escaped(names[0]), "\", wanted cls, sep or mask");
}

Vocabulary::Vocabulary(std::vector<std::string> pieces, const SpecialIds& special, const std::string& name)
    : special_(special) {
  const Vocabulary standard;
  for (std::int32_t id = 0; special == kDefaultSpecialIds && id < standard.size(); ++id) {
    const bool there = std::cmp_less(id, pieces.size());
    if (!there || pieces[id] != standard.piece(id)) {
      fail(name, ": piece ", id, " must be ", standard.piece(id), ", got ",
           there ? escaped(pieces[id]) : "nothing");
    }
  }
  std::vector<std::int32_t> taken;
  for (const SpecialName& each : kSpecialNames) {
    const std::int32_t id = special.*each.id;
    if (id == SpecialIds::kAbsent) continue;
    if (id < 0 || std::cmp_greater_equal(id, pieces.size()))
      fail(name, ": the id of ", each.name, " is ", id, ", wanted one below ", pieces.size());
    if (each.id == &SpecialIds::bos) continue;  // what begins may also end, or fill
    if (std::ranges::count(taken, id) > 0) fail(name, ": two special pieces have the id ", id);
    taken.push_back(id);
  }
  for (std::string& piece : pieces) {
    if (piece.empty()) fail(name, ": piece ", size(), " is empty");
    if (piece.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
      fail(name, ": piece ", size(), " is \"", escaped(piece),
           "\": a piece must not contain an end of line or NUL");
    auto [it, is_new] = ids_.emplace(piece, static_cast<std::int32_t>(size()));
    if (!is_new) fail(name, ": pieces ", it->second, " and ", size(), " are both \"", escaped(piece), "\"");
    pieces_.push_back(std::move(piece));
  }
}

void Vocabulary::add(const std::string& piece) {
  if (!ids_.emplace(piece, static_cast<std::int32_t>(size())).second) {
    fail("vocabulary: \"", escaped(piece), "\" is already there");
  }
  pieces_.push_back(piece);
}

std::int32_t Vocabulary::id(const std::string& piece) const {
  auto it = ids_.find(piece);
  if (it != ids_.end()) return it->second;
  if (special_.unk == SpecialIds::kAbsent) {
    const bool is_of_ids = !pieces_.empty() && pieces_.back() == std::to_string(size() - 1);
    fail("\"", escaped(piece), "\" is not in the vocabulary, which has no piece for unknown text",
         is_of_ids ? ": its pieces are the ids in digits, because the model has no tokenizer beside its "
                     "weights, or reads images"
                   : "");
  }
  return special_.unk;
}

const std::string& Vocabulary::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) {
    fail("id ", id, " is not in the vocabulary of ", size(), " pieces: was it made with another one?");
  }
  return pieces_[static_cast<std::size_t>(id)];
}

std::string_view Vocabulary::mask() const {
  if (special_.mask == SpecialIds::kAbsent) return {};
  return piece(special_.mask);
}

bool Vocabulary::is_special(std::string_view piece) const {
  auto it = ids_.find(std::string(piece));
  return it != ids_.end() && special_.contains(it->second);
}

std::vector<CountedPiece> parse_word_list(const std::vector<std::string>& lines, const std::string& name) {
  const Vocabulary special;
  std::vector<CountedPiece> list;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> fields = split_any(lines[i], " \t");
    if (fields.empty()) fail(name, ':', i + 1, ": empty piece");
    CountedPiece entry{std::string(fields[0]), 0};
    const bool bad_count = fields.size() == 2 && (!parse(fields[1], entry.count) || entry.count < 0);
    if (fields.size() > 2 || bad_count)
      fail(name, ':', i + 1, ": \"", escaped(lines[i]), "\": wanted a piece, or a piece and its count");
    auto [it, is_new] = seen.emplace(entry.piece, i + 1);
    if (!is_new) {
      fail(name, ": lines ", it->second, " and ", i + 1, " are both \"", escaped(entry.piece), "\"");
    }
    if (!special.is_special(entry.piece)) list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace heed::text
