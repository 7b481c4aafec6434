// tokenizer.json with a model of type BPE: byte-level (byte_bpe.h), of characters (character_bpe.h), or NLLB's,
// which becomes a SentencePiece model.
#pragma once

#include "text/foreign_json.h"
#include "text/foreign_tokenizer.h"

namespace heed::text {

/// `root`: the file, `model`: its model. Throws Error naming what is not supported.
ForeignTokenizer bpe_from_json(Object& root, Object& model);

}  // namespace heed::text
