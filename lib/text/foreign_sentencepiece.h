// SentencePiece models of other programs, with ids of their own: text, as it is, goes through the model's own normaliser and
// is cut into its pieces, and each piece has the id that the vocabulary lists it with; one that is not listed is unknown.
//   Marian, OPUS-MT  source.spm and target.spm cut, vocab.json (of two vocabularies, target_vocab.json) or vocab.yml
//                    numbers; the name of a language in front, ">>fra<<", is cut off first and looked up whole
//   T5               spiece.model, whose numbers count; <extra_id_0> and so on follow, in falling order
//   Llama 1 and 2, Mistral  tokenizer.model, whose numbers count
//   any .spm file    its own numbers, as Marian uses it for a vocabulary
// Text cannot spell special pieces, unless the model itself lets it.
#pragma once

#include <string>

#include "text/foreign_tokenizer.h"
#include "text/scheme.h"

namespace heed::text {

inline constexpr char kSentencePieceType[] = "sentencepiece";

struct ForeignSentencePieceOptions {
  /// The vocabulary is a list apart, as Marian has it: it may have pieces that the model lacks, and a language.
  bool is_list = false;
  SentenceFrame frame;
};

/// Throws Error when the vocabulary has no piece for unknown text, or `model` is none.
SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model,
                                            ForeignSentencePieceOptions options);
/// The same from what Scheme::settings() gave. `name` is for messages.
SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model,
                                            const std::string& settings, const std::string& name);

/// Whether a file begins as a serialized model does.
bool is_sentencepiece_model(const std::string& path);
/// Whether a folder has such models under the names above, or `path` is one of them.
bool has_sentencepiece_model(const std::string& path);

/// That of a folder, for "source" or "target", or of a model alone. Throws Error naming the file.
ForeignTokenizer read_sentencepiece_tokenizer(const std::string& path, const std::string& side);

/// Marian's: `model` cuts text, `vocabulary` numbers the pieces: JSON, YAML, or `model` again. Without a model (an empty path)
/// the text is pieces with spaces between them.
ForeignTokenizer read_marian_tokenizer(const std::string& vocabulary, const std::string& model);

}  // namespace heed::text
