// Provenance: root attributes that accompany every file and frame.
//   format="heed", format_version=2, creator="heed 0.1.0"   set by lib/io
//   history             one line per command, oldest first (as in netCDF); no dates, so equal runs give equal
//                       bytes
//   model_digest        SHA-256 of the model that computed the tensors
//   vocabulary_digest   SHA-256 of the vocabulary of the ids
//   first_sentence      number of the first sentence within the whole text; absent: 0
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

inline constexpr std::int64_t kFormatVersion = 2;
inline constexpr const char* kModelDigest = "model_digest";
inline constexpr const char* kVocabularyDigest = "vocabulary_digest";
inline constexpr const char* kFirstSentence = "first_sentence";
/// More sentences than any text has.
inline constexpr std::int64_t kMostSentences = 1'000'000'000'000;

/// The string attribute with that name; null if there is none.
const std::string* text_of(const Attributes& attributes, const std::string& name);

/// The root attributes of a heed file written by `command`: `root` with format, version, creator and history.
Attributes stamped(Attributes root, const std::string& command);

/// Appends `command` to `history` as its last line, unless it is empty.
void add_history(Attributes& root, const std::string& command);

/// Throws Error if `frame` (read from `source`) was made with another model or vocabulary: `which` is
/// kModelDigest or kVocabularyDigest, `wanted` the digest in use, which belongs to `owner`. Frames without
/// the attribute (made by other programs) pass.
void expect_digest(const TensorMap& frame, const std::string& source, const char* which,
                   const std::string& wanted, const std::string& owner);

/// Sentences of a frame; 0 if no tensor has that dimension.
std::int64_t sentences_of(const TensorMap& frame);

/// The attribute first_sentence. Throws Error, naming `source`, if it is not a valid number.
std::int64_t first_sentence_of(const Attributes& root, const std::string& source);
/// Sets first_sentence; removes it for 0, so that the first part of a text begins like the whole text.
void set_first_sentence(Attributes& root, std::int64_t number);

/// Throws Error if the map has a newer format version than this program supports. Maps of other programs
/// pass.
void expect_known_format(const Attributes& root, const std::string& source);

}  // namespace heed::io
