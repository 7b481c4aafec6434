// Provenance: root attributes that accompany every file and frame.
//   format="heed", format_version=2, creator="heed 0.1.0"   set by lib/io
//   history             one line per command, oldest first (as in netCDF); no dates, so equal runs give equal
//                       bytes
//   model_digest        SHA-256 of the model that computed the tensors
//   vocabulary_digest   SHA-256 of the vocabulary of the ids
//   first_sentence      number of the first sentence in the text that this is a part of; absent: 0
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

/// The attribute of that name; null when there is none or it is no string.
const std::string* text_of(const Attributes& attributes, const std::string& name);

/// The root attributes of a file of heed that `command` writes: these, with format, version, creator and history.
Attributes stamped(Attributes root, const std::string& command);

/// Appends `command` to `history` as its last line, unless it is empty.
void add_history(Attributes& root, const std::string& command);

/// Throws Error when `frame` (read from `source`) was made with another model or vocabulary: `which` is
/// kModelDigest or kVocabularyDigest, `wanted` the digest of the one in use, which is called `owner`. Frames
/// without the attribute (made by other programs) pass.
void expect_digest(const TensorMap& frame, const std::string& source, const char* which,
                   const std::string& wanted, const std::string& owner);

/// The attribute first_sentence. `source` is for messages: throws Error when it is no such number.
std::int64_t first_sentence_of(const Attributes& root, const std::string& source);
/// Sets it; of 0, removes it, so that a text in parts begins as one in a piece does.
void set_first_sentence(Attributes& root, std::int64_t number);

/// Throws Error when the map has a newer format version than this program. Maps of other programs pass.
void expect_known_format(const Attributes& root, const std::string& source);

}  // namespace heed::io
