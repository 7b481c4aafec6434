// JSON files beside the weights of other programs' models, read so that no field is overlooked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/vocabulary.h"

namespace heed::text {

/// More than any tokenizer has.
inline constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 28;
inline constexpr std::size_t kMostPieces = 10'000'000;

/// Throws Error if a file cannot be read, or has more than `most` bytes.
void expect_foreign_file(const std::string& path, std::uintmax_t most = kMostFileBytes);
/// The content of a file; throws like expect_foreign_file.
std::string read_foreign_file(const std::string& path, std::uintmax_t most = kMostFileBytes);
/// The JSON object in a file. Throws Error naming the file.
nlohmann::json read_foreign_json(const std::string& path);

/// Calls make(), attributing its errors to `path`.
template <class Make>
auto about_file(const std::string& path, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    fail(placed(escaped(path), error.what()));
  }
}

/// Whether the value is a valid id of a piece.
bool is_id(const nlohmann::json& value);
/// Whether a token has an id just after `rows`: no farther than the number of all added tokens.
inline bool is_beyond(std::int64_t id, std::int64_t rows, std::size_t added) {
  return id >= rows && id - rows < static_cast<std::int64_t>(added);
}

/// An object of the JSON, of which each field must be asked for: finish() names those that were not.
class Object {
 public:
  Object(const nlohmann::json& json, std::string where);

  const nlohmann::json& at(const std::string& name);
  /// null if missing.
  const nlohmann::json& get(const std::string& name);
  bool flag(const std::string& name, bool otherwise);
  std::string text(const std::string& name);
  std::int32_t id(const std::string& name);
  /// Refuses all other values.
  void expect(const std::string& name, std::initializer_list<nlohmann::json> values);
  void ignore(std::initializer_list<const char*> names);
  void finish() const;
  std::string where(const std::string& name) const { return where_ + "/" + name; }

  static std::string shown(const nlohmann::json& value);

 private:
  const nlohmann::json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

/// Pieces by id, without gaps.
class PieceList {
 public:
  /// At most `most` entries, so that a single large id does not allocate memory for all below it.
  PieceList(std::string where, std::size_t most) : where_(std::move(where)), most_(most) {}

  void add(std::int32_t id, const std::string& piece);
  /// Ids by their pieces, with `names_line_ends` as without_line_ends() says.
  void add_all(const nlohmann::json& vocabulary, bool names_line_ends = false);
  std::size_t size() const { return pieces_.size(); }
  /// The id of a piece, or SpecialIds::kAbsent.
  std::int32_t find(const std::string& piece) const;
  const std::string& where() const { return where_; }

  Vocabulary vocabulary(const SpecialIds& special) &&;
  /// Special ids are found by the pieces that models use for them.
  Vocabulary vocabulary(const std::vector<std::int32_t>& special) &&;

 private:
  SpecialIds special_ids(const std::vector<std::int32_t>& special) const;

  std::vector<std::string> pieces_;
  std::string where_;
  std::size_t most_;
};

}  // namespace heed::text
