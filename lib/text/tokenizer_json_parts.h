// Parts of tokenizer.json that its types of models share, each read so that nothing in it is overlooked. For
// tokenizer_json_reader.cpp and bpe_json_reader.cpp only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/foreign_json.h"
#include "text/scheme.h"
#include "text/vocabulary.h"
#include "text/word_unigram.h"

namespace heed::text {

/// The field "type" of an object; empty for null.
std::string type_of(const nlohmann::json& json, const std::string& where);
[[noreturn]] void fail_type(const std::string& type, const std::string& where, const char* wanted);
void expect_type(Object& object, const char* wanted);

/// The members of a Sequence, or the object itself; none for null.
std::vector<nlohmann::json> members(const nlohmann::json& json, const std::string& list,
                                    const std::string& where);

struct TokenList {
  std::vector<std::int32_t> special;
  std::vector<AddedToken> special_tokens;  ///< the same, and how text spells them
  std::vector<AddedToken> others;
  bool mask_strips = false;  ///< the mask takes the white space before it
};

/// The added tokens, which are also added to the pieces; with `names_line_ends` as without_line_ends() says.
TokenList add_tokens(const nlohmann::json& list, PieceList& pieces, const std::string& where,
                     bool names_line_ends = false);

/// Throws Error unless all are special; `reason`: why others cannot be.
void expect_special(const TokenList& added, const std::string& where, const char* reason);

/// The model's pieces, with `names_line_ends` as without_line_ends() says. The ids of added tokens may lie
/// between theirs.
PieceList pieces_of(Object& root, Object& model, bool names_line_ends = false);
/// Adds the special pieces, and those needed for the frame of a sentence.
Vocabulary vocabulary_of(PieceList pieces, const std::vector<std::int32_t>& special,
                         const SentenceFrame& frame, const Object& root);

/// The ids around sentences and pairs.
SentenceFrame read_post_processor(const nlohmann::json& json, const std::string& where);

/// What comes before Unigram's words, in this order and each by choice: a table, which is returned, the end
/// of the text, and runs of spaces.
std::string read_normalisations(Object& root, WordUnigramOptions& options);
/// Words that each begin with U+2581.
void expect_metaspace(const nlohmann::json& json, const std::string& where);

}  // namespace heed::text
