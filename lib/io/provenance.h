// Where tensors come from: root attributes that travel with every file and frame.
//   format="heed", format_version=1, creator="heed 0.1.0"   written by lib/io itself
//   history             one line per command, oldest first (as netCDF does); no dates, so equal runs give
//   equal bytes model_digest        SHA-256 of the model the tensors were computed with vocabulary_digest
//   SHA-256 of the vocabulary the ids belong to
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

inline constexpr std::int64_t kFormatVersion = 1;
inline constexpr const char* kModelDigest = "model_digest";
inline constexpr const char* kVocabularyDigest = "vocabulary_digest";
inline constexpr const char* model_digest = kModelDigest;  // for models and train, until they say the above

/// Appends `command` as the newest line of `history`; an empty command appends nothing.
void add_history(Attributes& root, const std::string& command);

/// Throws Error when `frame` (read from `source`) says that it was made with another model or vocabulary:
/// `which` is kModelDigest or kVocabularyDigest, `wanted` the digest of the one now in use (named `owner`).
/// Tensors that say nothing (made by other programs) pass.
void expect_digest(const TensorMap& frame, const std::string& source, const char* which,
                   const std::string& wanted, const std::string& owner);

/// Throws Error unless the map is of a format version this program knows. Maps of other programs pass.
void expect_known_format(const Attributes& root, const std::string& source);

}  // namespace heed::io
