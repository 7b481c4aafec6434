// Serialized SentencePiece models, which are untrusted. The library trusts a model's normalisation trie and
// its scores, so a damaged model could make it read beyond its memory: these are checked here first.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

/// Throws Error beginning with `name` unless the model can be run safely.
std::unique_ptr<sentencepiece::SentencePieceProcessor> load_sentencepiece(const std::string& model,
                                                                          const std::string& name);

/// The kinds of models, numbered as in the file.
enum class ModelType : std::uint8_t { unigram = 1, bpe = 2 };

/// Serializes a model from pieces with scores (log probabilities; of BPE, the higher the earlier a piece is
/// merged) and a table of normalisations, which may be empty. Special pieces are those that text cannot
/// spell; one of them is `unk`.
std::string sentencepiece_model(ModelType type, const std::vector<std::string>& pieces,
                                const std::vector<float>& scores, const std::vector<bool>& special,
                                std::int32_t unk, const std::string& normalisations);

/// The normalisation table of a model loaded by load_sentencepiece(); may be empty.
std::string_view normalisation_table(std::string_view model);

/// Lookups in such a table.
class Normalisations {
 public:
  explicit Normalisations(std::string_view table);
  /// The replacement for the shortest prefix of `text` that has one; nothing if none has.
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;  ///< of the trie
  std::string texts_;
};

/// The model without the note of the input format of its training text, which is irrelevant to it.
std::string without_input_format(std::string_view model);

/// The piece of a byte, "<0xE2>".
std::string byte_piece(char byte);
/// The inverse, with digits in either case; nothing for other pieces.
std::optional<char> byte_of_piece(std::string_view piece);

}  // namespace heed::text
