// Tokenizers of other programs' models, from the files beside their weights:
//   tokenizer.json              of the library tokenizers (https://github.com/huggingface/tokenizers): byte-level BPE, WordPiece, T5's Unigram
//   vocab.json and merges.txt   of GPT-2 and what follows it
//   SentencePiece models        of Marian, T5, Llama (text/foreign_sentencepiece.h), before a tokenizer.json beside them
//   vocab.txt                   of BERT, beside tokenizer_config.json, which says whether case counts (do_lower_case)
// They give the ids that the library gives; the ids stay the source's. What is read is exactly what is understood: any other
// type of model, normalizer, pre-tokenizer, post-processor or decoder, any other pattern and any unknown field is an error that
// names it. The settings truncation and padding are those of a call, not of the tokenizer, and are left to tokenize.
//
// Text cannot spell special tokens, but for the mask, unless it is told to (Tokenizer::spelling_special_tokens()); the library's text
// can, unless it is told otherwise. Added tokens that are not special (text/added_tokens.h) it can, in byte-level BPE; elsewhere
// they are an error.
#pragma once

#include <string>
#include <vector>

#include "text/scheme.h"

namespace heed::text {

class Tokenizer;

struct ForeignTokenizer {
  std::string type;       ///< as Tokenizer::type()
  bool composes = false;  ///< text is brought to NFC first
  SchemePtr scheme;
  std::vector<std::string> files{};  ///< that it was read from
};

/// Whether `path` is a folder with one of the above, or one of the files itself, by its content.
bool is_foreign_tokenizer(const std::string& path);

/// That of the `side`, "source" or "target", where a folder has two. Throws Error naming the file and what it cannot read.
ForeignTokenizer read_foreign_tokenizer(const std::string& path, const std::string& side = "source");

/// The tokenizer as tokenizer.json; empty for the types that it cannot have, all but byte_bpe, wordpiece and word_unigram. Pieces that
/// nothing but their name makes are its added, special tokens.
std::string tokenizer_json(const Tokenizer& tokenizer);

}  // namespace heed::text
