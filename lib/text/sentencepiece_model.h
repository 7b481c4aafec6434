// Serialized models of SentencePiece, which anybody may have written. The library believes what a model says of its trie of
// normalisations and of its scores, so that a damaged one could make it read beyond its memory: those are checked here first.
#pragma once

#include <sentencepiece_processor.h>

#include <memory>
#include <string>

namespace heed::text {

/// Throws Error, which begins with `name`, unless it is a model that can be run.
std::unique_ptr<sentencepiece::SentencePieceProcessor> load_sentencepiece(const std::string& model,
                                                                          const std::string& name);

/// The byte of the piece "<0xE2>".
char byte_of_piece(const std::string& piece);

}  // namespace heed::text
