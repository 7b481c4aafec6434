// SentencePiece models of other programs, with their own ids: text is passed to the model's own normaliser
// and split into its pieces; each piece has the id assigned by the vocabulary, and a piece without one is
// unknown.
//   Marian, OPUS-MT  source.spm and target.spm split, vocab.json (with two vocabularies, target_vocab.json)
//                    or vocab.yml assigns ids; a leading name of a language, ">>fra<<", is cut off and
//                    looked up whole
//   T5               spiece.model, which assigns ids; <extra_id_0> and so on follow, in descending order
//   Llama 1 and 2, Mistral  tokenizer.model, which assigns ids
//   NLLB, mBART      sentencepiece.bpe.model, whose pieces follow <s>, <pad>, </s>, <unk> (fairseq's ids);
//                    codes of languages and <mask> come last
//   M2M-100          sentencepiece.bpe.model splits, vocab.json assigns ids, codes of languages follow
//   any .spm file    its own ids, as when Marian uses it for a vocabulary
//   XLM-RoBERTa, CamemBERT  sentencepiece.bpe.model, whose pieces follow special ones of another order. Since
//                    version 5 transformers splits text for these by the rules of word_unigram.h, and so does
//                    heed. A tokenizer.json beside it takes precedence, as in transformers: it states the
//                    ids, which the model alone does not, and how words are made.
// Text cannot spell special pieces, unless the model itself allows it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/foreign_tokenizer.h"
#include "text/scheme.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace heed::text {

inline constexpr char kSentencePieceType[] = "sentencepiece";

struct ForeignSentencePieceOptions {
  /// The vocabulary is a separate list, as in Marian: it may have pieces that the model lacks, and a
  /// language, which text names unless the frame does.
  bool is_list = false;
  SentenceFrame frame;
};

/// Throws Error if the vocabulary has no piece for unknown text, or `model` is invalid.
SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model,
                                            ForeignSentencePieceOptions options);
/// The scheme from the result of Scheme::settings(). `name` is for messages.
SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model,
                                            const nlohmann::json& settings, const std::string& name);

/// The tokenizer of this scheme; the last of `files` is the model's file. `loaded`: the model, if the caller
/// has loaded it.
ForeignTokenizer sentencepiece_tokenizer(
    Vocabulary vocabulary, std::string model, ForeignSentencePieceOptions options,
    std::vector<std::string> files,
    std::shared_ptr<const sentencepiece::SentencePieceProcessor> loaded = nullptr);

/// Whether a file begins like a serialized model.
bool is_sentencepiece_model(const std::string& path);
/// Whether a folder has such models under the names above, or `path` is one of them.
bool has_sentencepiece_model(const std::string& path);

/// The tokenizer of a folder, for "source" or "target", or of a single model; `rows` as in read_foreign_tokenizer.
/// Throws Error naming the file.
ForeignTokenizer read_sentencepiece_tokenizer(const std::string& path, const std::string& side,
                                              std::int64_t rows);

/// Marian's tokenizer: `model` splits text, `vocabulary` assigns ids: JSON, YAML, or `model` again. Without a
/// model (an empty path) text is pieces separated by spaces.
ForeignTokenizer read_marian_tokenizer(const std::string& vocabulary, const std::string& model);

}  // namespace heed::text
