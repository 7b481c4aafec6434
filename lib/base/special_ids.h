// The pieces of a vocabulary that stand for no text. Which ids they have is a property of the vocabulary
// (text::Vocabulary::special), not of the program: another vocabulary may lack some or number them otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace heed {

struct SpecialIds {
  static constexpr std::int32_t kAbsent = -1;

  std::int32_t pad = 0;         ///< fills rows up to the longest sentence
  std::int32_t unk = 1;         ///< replaces text that has no piece
  std::int32_t bos = 2;         ///< the first token that a decoder reads
  std::int32_t eos = 3;         ///< ends a sentence
  std::int32_t cls = kAbsent;   ///< its state represents the whole text
  std::int32_t sep = kAbsent;   ///< separates two texts
  std::int32_t mask = kAbsent;  ///< hides a piece that is to be predicted
  /// Rows of a model's tables from this id on have no piece of text.
  std::int32_t first_unused = INT32_MAX;
  bool produces_unk = true;  ///< whether a decoder may produce unk

  constexpr bool contains(std::int32_t id) const;
  /// Whether a decoder may produce the id: not ids that only begin or fill sentences, nor rows without a
  /// piece. An id that also ends sentences may be produced: in GPT-2 one id is both bos and eos.
  constexpr bool produced(std::int32_t id) const {
    return id == eos || (id != pad && id != bos && id < first_unused && (produces_unk || id != unk));
  }
  friend bool operator==(const SpecialIds&, const SpecialIds&) = default;
};

/// A special id by name, and the piece that learned vocabularies give it.
struct SpecialName {
  const char* name;
  const char* piece;
  std::int32_t SpecialIds::*id;
};

inline constexpr SpecialName kSpecialNames[] = {
    {"pad", "<pad>", &SpecialIds::pad},    {"unk", "<unk>", &SpecialIds::unk},
    {"bos", "<s>", &SpecialIds::bos},      {"eos", "</s>", &SpecialIds::eos},
    {"cls", "<cls>", &SpecialIds::cls},    {"sep", "<sep>", &SpecialIds::sep},
    {"mask", "<mask>", &SpecialIds::mask},
};

/// Whether `id` is one of the special ids.
constexpr bool SpecialIds::contains(std::int32_t id) const {
  return id != kAbsent && std::any_of(std::begin(kSpecialNames), std::end(kSpecialNames),
                                      [&](const SpecialName& special) { return this->*special.id == id; });
}

/// The ids of a vocabulary that does not state others.
inline constexpr SpecialIds kDefaultSpecialIds;
/// None.
inline constexpr SpecialIds kNoSpecialIds{-1, -1, -1, -1, -1, -1, -1};

}  // namespace heed
