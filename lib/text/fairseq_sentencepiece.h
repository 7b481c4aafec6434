// SentencePiece models in the folders of models that come from fairseq (text/foreign_sentencepiece.h): special pieces
// whose ids are not SentencePiece's stand before those of the model.
#pragma once

#include <string>

#include "text/foreign_tokenizer.h"

namespace heed::text {

inline constexpr char kFairseqModel[] = "sentencepiece.bpe.model";  // whatever its type

/// Whether the tokenizer.json of a folder with such a model counts instead, as it does unless the folder is of
/// a model for translation.
bool prefers_tokenizer_json(const std::string& folder);

/// `path`: of the model, whose folder says of which class it is. Throws Error naming the file.
ForeignTokenizer read_fairseq_tokenizer(const std::string& path);

}  // namespace heed::text
