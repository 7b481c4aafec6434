// Tokenizers of other programs' models, from the files beside their weights:
//   tokenizer.json              of the library tokenizers (https://github.com/huggingface/tokenizers):
//                               byte-level BPE, BPE of characters, WordPiece, Unigram of words, NLLB's BPE
//   vocab.json and merges.txt   of GPT-2 and its successors
//   SentencePiece models        of Marian, T5, Llama, Gemma, NLLB, mBART, M2M-100, XLM-RoBERTa, CamemBERT
//                               (text/foreign_sentencepiece.h); all but the last two take precedence over a
//                               tokenizer.json beside them
//   vocab.txt                   of BERT and MPNet, beside tokenizer_config.json, which states whether case
//                               counts (do_lower_case)
// They give the same ids as the library; ids are unchanged. Only what is fully understood is accepted: any
// other type of model, normalizer, pre-tokenizer, post-processor or decoder, any other pattern and any
// unknown field is an error that names it. The settings truncation and padding belong to a call, not to the
// tokenizer, and are left to tokenize.
//
// Text cannot spell special tokens except the mask, unless requested (Tokenizer::spelling_special_tokens());
// in the library it can, unless disabled. Text can spell non-special added tokens (text/added_tokens.h) in
// byte-level BPE and BPE of characters; elsewhere they are an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/scheme.h"

namespace heed::text {

class Tokenizer;

struct ForeignTokenizer {
  std::string type;       ///< see Tokenizer::type()
  bool composes = false;  ///< text is normalised to NFC first
  SchemePtr scheme;
  std::vector<std::string> files{};       ///< the files it was read from
  std::vector<std::int32_t> languages{};  ///< see Tokenizer::languages()
  std::vector<std::string> left_out{};    ///< added tokens that no model of so many rows has
};

/// Whether `path` is a folder with one of the above, or one of the files itself, by its content.
bool is_foreign_tokenizer(const std::string& path);

/// The tokenizer of `side`, "source" or "target", if a folder has two. `rows` of the model it belongs to: special
/// tokens with ids just after them that were added to the pieces, such as that of images which the tokenizer of Gemma
/// 3's models of text has, are left out; of a SentencePiece model all that were added. Throws Error naming the file and
/// what is not supported.
ForeignTokenizer read_foreign_tokenizer(const std::string& path, const std::string& side = "source",
                                        std::int64_t rows = INT32_MAX);

/// The tokenizer as tokenizer.json; empty unless the type is byte_bpe, character_bpe, wordpiece or word_unigram.
/// Pieces that arise only from their name become its added, special tokens.
std::string tokenizer_json(const Tokenizer& tokenizer);

}  // namespace heed::text
