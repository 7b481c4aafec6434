#include "text/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed::text {
namespace {

// Fields of sentencepiece_model.proto: of the model, of the trainer, of a piece and of the normalizer; and
// types of a piece.
constexpr std::uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
constexpr std::uint32_t kModelType = 3, kInputFormat = 7;
constexpr std::uint32_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr std::uint32_t kCharsmap = 2;
constexpr std::uint32_t kNormalPiece = 1, kUnknownPiece = 2, kControlPiece = 3;

/// Bytes of a piece with its score and type. The library builds its trie by a recursion as deep as a piece is
/// long.
constexpr std::size_t kLongestPieceEntry = 10'000;

/// Reads a Protocol Buffers varint from the front.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_number(std::uint32_t field, std::uint64_t value, std::string& out) {
  put_varint(field << 3, out);
  put_varint(value, out);
}
void put_bytes(std::uint32_t field, std::string_view bytes, std::string& out) {
  put_varint(field << 3 | 2, out);
  put_varint(bytes.size(), out);
  out += bytes;
}
void put_float(std::uint32_t field, float value, std::string& out) {
  put_varint(field << 3 | 5, out);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift);
}

/// Calls visit(tag, value, whole) for each field of a message: the payload of a length-delimited value, and
/// the bytes of tag and value. False if the fields cannot be separated: the library, which skips constructs
/// that no model has (groups), might then find other values.
template <class Visit>
bool each_field(std::string_view message, const Visit& visit) {
  while (!message.empty()) {
    const std::string_view start = message;
    const auto tag = take_varint(message);
    if (!tag) return false;
    std::uint64_t size = 0;
    switch (*tag & 7) {
      case 0:
        if (!take_varint(message)) return false;
        break;
      case 1:
        size = 8;
        break;
      case 2: {
        const auto stated = take_varint(message);
        if (!stated) return false;
        size = *stated;
        break;
      }
      case 5:
        size = 4;
        break;
      default:
        return false;
    }
    if (size > message.size()) return false;
    const std::string_view value = message.substr(0, size);
    message.remove_prefix(size);
    // The library, too, takes 32 bits of a tag.
    visit(static_cast<std::uint32_t>(*tag), value, start.substr(0, start.size() - message.size()));
  }
  return true;
}

/// The values of the field `number` of a message, all of them of bytes; nothing when its fields cannot be
/// told apart.
std::optional<std::vector<std::string_view>> fields_of(std::string_view message, std::uint32_t number) {
  std::vector<std::string_view> found;
  const bool is_clear = each_field(message, [&](std::uint32_t tag, std::string_view value, std::string_view) {
    if (tag == (number << 3 | 2)) found.push_back(value);
  });
  return is_clear ? std::optional(std::move(found)) : std::nullopt;
}

std::size_t offset(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & 1U << 9) >> 6);
}
bool has_label(std::uint32_t unit, std::uint32_t label) {
  return (unit & 0x8000'00FFU) == label;
}
bool has_leaf(std::uint32_t unit) {
  return unit >> 8 & 1;
}
std::size_t value_of(std::uint32_t unit) {
  return unit & 0x7FFF'FFFFU;
}

std::vector<std::uint32_t> units_of(std::string_view bytes) {
  std::vector<std::uint32_t> units(bytes.size() / sizeof(std::uint32_t));
  if (!units.empty()) std::memcpy(units.data(), bytes.data(), units.size() * sizeof(std::uint32_t));
  return units;
}

/// The trie of a normalisation table, a double array (darts-clone): from unit i, the unit of byte c is i ^
/// offset(i) ^ c, if its label is c; the value of a unit with a leaf is at i ^ offset(i). Common suffixes
/// share their units.
class Trie {
 public:
  explicit Trie(std::string_view bytes) : units_(units_of(bytes)), below_(units_.size(), kUnseen) {}

  /// Whether every search ends within the units, with no more leaves than the library has room for, and every
  /// value lies within `values`.
  bool is_sound(std::string_view values) {
    if (units_.empty()) return false;
    struct Open {
      std::size_t unit;
      std::uint32_t label;  ///< of the next child
    };
    std::vector<Open> open{{0, 0}};
    below_[0] = kOpen;
    while (!open.empty()) {
      const std::size_t unit = open.back().unit, next = unit ^ offset(units_[unit]);
      if ((next | 0xFF) >= units_.size()) return false;
      if (open.back().label == 256) {
        below_[unit] = most_below(next);
        if (below_[unit] > kMostLeaves) return false;
        open.pop_back();
        continue;
      }
      const std::uint32_t label = open.back().label++;
      const std::size_t child = next ^ label;
      if (!is_child(child, label)) continue;
      if (below_[child] == kOpen) return false;  // endless
      if (below_[child] != kUnseen) continue;
      if (has_leaf(child) && !is_sound_value(child, values)) return false;
      below_[child] = kOpen;
      open.push_back({child, 0});
    }
    return true;
  }

 private:
  static constexpr int kMostLeaves = 32;  ///< Normalizer::kMaxTrieResultsSize
  static constexpr int kUnseen = -1, kOpen = -2;

  bool is_child(std::size_t unit, std::uint32_t label) const { return has_label(units_[unit], label); }
  bool has_leaf(std::size_t unit) const { return text::has_leaf(units_[unit]); }
  int most_below(std::size_t next) const {
    int most = 0;
    for (std::uint32_t label = 0; label < 256; ++label)
      if (const std::size_t child = next ^ label; is_child(child, label))
        most = std::max(most, below_[child] + has_leaf(child));
    return most;
  }
  bool is_sound_value(std::size_t unit, std::string_view values) const {
    const std::size_t at = unit ^ offset(units_[unit]);
    return at < units_.size() && value_of(units_[at]) < values.size();
  }

  std::vector<std::uint32_t> units_;
  std::vector<int> below_;  ///< by unit, the most leaves on a way from it, or one of the above
};

/// The size of the trie, the trie, texts that end in NUL; or nothing.
bool is_sound_charsmap(std::string_view map) {
  if (map.empty()) return true;
  std::uint32_t size = 0;
  if (map.size() <= sizeof size) return false;
  std::memcpy(&size, map.data(), sizeof size);
  map.remove_prefix(sizeof size);
  if (size >= map.size() || size % sizeof(std::uint32_t) || map.back() != '\0') return false;
  return Trie(map.substr(0, size)).is_sound(map.substr(size));
}

}  // namespace

std::unique_ptr<sentencepiece::SentencePieceProcessor> load_sentencepiece(const std::string& model,
                                                                          const std::string& name) {
  const auto needed_fields = [&](std::string_view message, std::uint32_t number) {
    auto found = fields_of(message, number);
    if (!found)
      fail(name, ": no SentencePiece model: its fields cannot be told apart: is it damaged, or text?");
    return *std::move(found);
  };
  for (const std::uint32_t field : {kNormalizer, kDenormalizer})
    for (const std::string_view spec : needed_fields(model, field))
      for (const std::string_view map : needed_fields(spec, kCharsmap))
        if (!is_sound_charsmap(map)) fail(name, ": its table of normalisations is damaged");
  for (const std::string_view piece : needed_fields(model, kPieces))
    if (piece.size() > kLongestPieceEntry)
      fail(name, ": a piece has ", piece.size(), " bytes, wanted at most ", kLongestPieceEntry, ": damaged?");
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const auto refuse = [&](const std::string& why) {
    fail(name, ": no SentencePiece model: ", escaped(why, 200));
  };
  try {
    const auto status = processor->LoadFromSerializedProto(model);
    if (!status.ok()) refuse(status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {  // by its trie, when a piece begins with NUL
    refuse(thrown.what());
  }
  for (int id = 0; id < processor->GetPieceSize(); ++id)
    if (!std::isfinite(processor->GetScore(id)))
      fail(name, ": piece ", id, " has the score ", processor->GetScore(id), ": damaged?");
  return processor;
}

std::string sentencepiece_model(ModelType type, const std::vector<std::string>& pieces,
                                const std::vector<float>& scores, const std::vector<bool>& special,
                                std::int32_t unk, const std::string& normalisations) {
  std::string model;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    std::string piece;
    put_bytes(kPieceText, pieces[id], piece);
    put_float(kPieceScore, scores[id], piece);
    put_number(kPieceType,
               std::cmp_equal(id, unk) ? kUnknownPiece
               : special[id]           ? kControlPiece
                                       : kNormalPiece,
               piece);
    put_bytes(kPieces, piece, model);
  }
  if (type != ModelType::unigram) {  // which is the default
    std::string trainer;
    put_number(kModelType, static_cast<std::uint32_t>(type), trainer);
    put_bytes(kTrainer, trainer, model);
  }
  std::string normalizer;
  put_bytes(kCharsmap, normalisations, normalizer);
  put_bytes(kNormalizer, normalizer, model);
  return model;
}

std::string_view normalisation_table(std::string_view model) {
  std::string_view table;
  for (const std::string_view spec : fields_of(model, kNormalizer).value_or(std::vector<std::string_view>()))
    for (const std::string_view map : fields_of(spec, kCharsmap).value_or(std::vector<std::string_view>()))
      if (!map.empty()) table = map;
  return table;
}

Normalisations::Normalisations(std::string_view table) {
  if (table.empty()) return;
  std::uint32_t size = 0;
  std::memcpy(&size, table.data(), sizeof size);
  units_ = units_of(table.substr(sizeof size, size));
  texts_ = table.substr(sizeof size + size);
}

std::optional<std::string_view> Normalisations::find(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  std::size_t at = offset(units_[0]);
  for (const char c : text) {
    const auto label = static_cast<unsigned char>(c);
    const std::uint32_t unit = units_[at ^ label];
    if (!has_label(unit, label)) return std::nullopt;
    at ^= label ^ offset(unit);
    if (has_leaf(unit)) return std::string_view(texts_.data() + value_of(units_[at]));  // ends in NUL
  }
  return std::nullopt;
}

std::string without_input_format(std::string_view model) {
  std::string out;
  each_field(model, [&](std::uint32_t tag, std::string_view value, std::string_view whole) {
    if (tag != (kTrainer << 3 | 2)) {
      out += whole;
      return;
    }
    std::string trainer;
    each_field(value, [&](std::uint32_t inner, std::string_view, std::string_view field) {
      if (inner != (kInputFormat << 3 | 2)) trainer += field;
    });
    put_bytes(kTrainer, trainer, out);
  });
  return out;
}

std::string byte_piece(char byte) {
  std::array<char, 8> name{};
  std::snprintf(name.data(), name.size(), "<0x%02X>", unsigned{static_cast<unsigned char>(byte)});
  return name.data();
}

std::optional<char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  const char* end = piece.data() + 5;
  if (std::from_chars(piece.data() + 3, end, value, 16).ptr != end) return std::nullopt;
  return static_cast<char>(value);
}

}  // namespace heed::text
