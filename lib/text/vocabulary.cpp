#include "text/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed::text {

bool is_special_piece(std::string_view piece) {
  return std::find(std::begin(special_pieces), std::end(special_pieces), piece) != std::end(special_pieces);
}

Vocabulary::Vocabulary() {
  for (std::string_view special : special_pieces) add(std::string(special));
}

Vocabulary::Vocabulary(std::vector<std::string> pieces, const std::string& name) {
  for (std::int32_t id = 0; id < kSpecialIds; ++id) {
    std::string_view wanted = special_pieces[id];
    if (std::cmp_less_equal(pieces.size(), id) || pieces[id] != wanted) {
      fail(name, ": piece ", id, " must be ", wanted, ", got ",
           std::cmp_less_equal(pieces.size(), id) ? "nothing" : escaped(pieces[id]));
    }
  }
  for (std::string& piece : pieces) {
    if (piece.empty()) fail(name, ": piece ", size(), " is empty");
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
  return it == ids_.end() ? kUnknown : it->second;
}

const std::string& Vocabulary::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) {
    fail("id ", id, " is not in the vocabulary of ", size(), " pieces: was it made with another one?");
  }
  return pieces_[static_cast<std::size_t>(id)];
}

std::vector<CountedPiece> parse_word_list(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<CountedPiece> list;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> fields = split_any(lines[i], " \t");
    if (fields.empty()) fail(name, ':', i + 1, ": empty piece");
    CountedPiece entry{std::string(fields[0]), 0};
    if (fields.size() == 2) {
      const char* end = fields[1].data() + fields[1].size();
      auto [stop, error] = std::from_chars(fields[1].data(), end, entry.count);
      if (error != std::errc() || stop != end || entry.count < 0) fields.push_back({});
    }
    if (fields.size() > 2) {
      fail(name, ':', i + 1, ": \"", escaped(lines[i]), "\": wanted a piece, or a piece and its count");
    }
    auto [it, is_new] = seen.emplace(entry.piece, i + 1);
    if (!is_new) {
      fail(name, ": lines ", it->second, " and ", i + 1, " are both \"", escaped(entry.piece), "\"");
    }
    if (!is_special_piece(entry.piece)) list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace heed::text
